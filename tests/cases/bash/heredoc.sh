#!/usr/bin/env bash
# A file written by the script, read back, and a list in a here-string.
STAGE=2
cat <<EOT > config.txt
stage $STAGE \$kept
"quoted"
EOT
cat > raw.txt << 'EOT'
$STAGE
EOT
read -r first second <<< "alpha beta gamma"
IFS=',' read -ra parts <<< "1,2,3"
torchrun a.py "$(cat config.txt)" "$(cat raw.txt)" "$first" "$second" "${#parts[@]}" "${parts[2]}"
