python ./deepy.py train.py config.yml
