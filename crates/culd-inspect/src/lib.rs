//! Dump and compare CUDA device objects
#![forbid(unsafe_code)]
