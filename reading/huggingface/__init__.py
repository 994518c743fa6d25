"""A model's `config.json` as Hugging Face's transformers write it -> the settings of a `model` block.

`config.Config` gives the values of a file, with transformers' own defaults (`defaults`) for keys that
it lacks, and notes which were asked for. A family is a function of `families/`; `rope`, `windows` and
`experts` are what several share. `described.read_model` runs it: a key that no family asks for is in
`unneeded`, with the reason why no layout depends on it, or is named. `weights` counts what the
safetensors files beside it hold.
"""
