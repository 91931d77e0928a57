#!/usr/bin/env bash
# Prints the folder of cudnn_frontend.h: headers alone, which NVIDIA publishes as the Python package
# nvidia-cudnn-frontend. Kept in the cache. Prints nothing where they cannot be had: cuDNN is left out then.
set -u
folder=${XDG_CACHE_HOME:-$HOME/.cache}/perfbench/cudnn-frontend
if [ ! -e "$folder/include/cudnn_frontend.h" ]; then
  python3 -m pip install -q --no-deps --target "$folder" nvidia-cudnn-frontend >&2 || exit 0
fi
[ ! -e "$folder/include/cudnn_frontend.h" ] || echo "$folder/include"
