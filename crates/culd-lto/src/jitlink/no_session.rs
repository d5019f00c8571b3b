//! Systems where libraries cannot be loaded.

use crate::Failure;
use std::path::Path;

/// A link of the library; never made on this system.
#[derive(Debug)]
pub enum Session {}

#[allow(missing_docs, reason = "see the other implementation")]
#[allow(clippy::missing_errors_doc, reason = "see the other implementation")]
impl Session {
    pub fn create(library: &Path, _options: &[String]) -> Result<(Session, i32), Failure> {
        Err(Failure::Library(format!(
            "{}: libraries cannot be loaded on this system",
            library.display()
        )))
    }
    pub fn add(&mut self, _kind: i32, _bytes: &[u8], _name: Option<&str>) -> i32 {
        match *self {}
    }
    pub fn add_file(&mut self, _kind: i32, _path: &str) -> i32 {
        match *self {}
    }
    pub fn complete(&mut self) -> i32 {
        match *self {}
    }
    pub fn cubin(&self) -> Result<Vec<u8>, i32> {
        match *self {}
    }
    pub fn ptx(&self) -> Result<Vec<u8>, i32> {
        match *self {}
    }
    pub fn lto_ir(&self) -> Result<Vec<u8>, i32> {
        match *self {}
    }
    pub fn error_log(&self) -> Vec<u8> {
        match *self {}
    }
    pub fn info_log(&self) -> Vec<u8> {
        match *self {}
    }
}
