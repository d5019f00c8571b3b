//! Recognising linker inputs and finding the device objects inside them
#![forbid(unsafe_code)]
