//! Instruction-level model of Blackwell SASS: scoreboards, fences, hazards
#![forbid(unsafe_code)]
