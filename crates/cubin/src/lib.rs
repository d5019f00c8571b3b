//! CUDA device object format: reading, writing, codecs for its metadata
#![forbid(unsafe_code)]
