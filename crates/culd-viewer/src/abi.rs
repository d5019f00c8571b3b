//! What the page calls. Numbers are 32-bit; an answer is its address in the high and its length in the low half of 64 bits.
//!
//! 1. `culd_memory(length)` gives the page memory to write a name or contents to.
//! 2. `culd_add(name, length, contents, length)` makes a file of two of them and takes them over; `culd_clear()` forgets all files.
//! 3. `culd_show()`, `culd_compare()`, `culd_link()` answer with JSON; `culd_kinds()` with two counts, relocatable and linked cubins.
//! 4. `culd_image()` answers with the file of the last link.
#![allow(unsafe_code, reason = "the page and this module share memory")]

use crate::File;
use culd_report::Report;
use std::cell::RefCell;

thread_local! {
    static FILES: RefCell<Vec<File>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static IMAGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Memory for the page to write to; `culd_add` takes it back.
#[unsafe(no_mangle)]
pub extern "C" fn culd_memory(length: usize) -> *mut u8 {
    let mut memory = vec![0u8; length].into_boxed_slice();
    let address = memory.as_mut_ptr();
    std::mem::forget(memory);
    address
}

/// The memory that `culd_memory` gave out.
fn take(address: *mut u8, length: usize) -> Vec<u8> {
    // SAFETY: the page passes each address of `culd_memory` once, with the length that it requested.
    unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(address, length)) }.into_vec()
}

/// Adds a file.
#[unsafe(no_mangle)]
pub extern "C" fn culd_add(name: *mut u8, name_length: usize, contents: *mut u8, length: usize) {
    let name = String::from_utf8_lossy(&take(name, name_length)).into_owned();
    let contents = take(contents, length);
    FILES.with_borrow_mut(|files| files.push((name, contents)));
}

/// Forgets all files.
#[unsafe(no_mangle)]
pub extern "C" fn culd_clear() {
    FILES.with_borrow_mut(Vec::clear);
}

fn place(bytes: &[u8]) -> u64 {
    ((bytes.as_ptr() as u64) << 32) | bytes.len() as u64
}

fn answer(make: impl FnOnce(&[File]) -> Report) -> u64 {
    let report = FILES.with_borrow(|files| make(files));
    let text = serde_json::to_vec(&report).unwrap_or_else(|_| b"null".to_vec());
    ANSWER.with_borrow_mut(|answer| {
        *answer = text;
        place(answer)
    })
}

/// Describes the files.
#[unsafe(no_mangle)]
pub extern "C" fn culd_show() -> u64 {
    answer(crate::show)
}

/// Describes what grew between the first two files.
#[unsafe(no_mangle)]
pub extern "C" fn culd_compare() -> u64 {
    answer(crate::compare)
}

/// Links the files and describes the result.
#[unsafe(no_mangle)]
pub extern "C" fn culd_link() -> u64 {
    answer(|files| {
        let (report, image) = crate::link(files);
        IMAGE.with_borrow_mut(|place| *place = image.unwrap_or_default());
        report
    })
}

/// The file that the last link made; empty when it failed.
#[unsafe(no_mangle)]
pub extern "C" fn culd_image() -> u64 {
    IMAGE.with_borrow(|image| place(image))
}

/// Relocatable cubins in the high half, linked cubins in the low half.
#[unsafe(no_mangle)]
pub extern "C" fn culd_kinds() -> u64 {
    let [relocatable, linked] = FILES.with_borrow(|files| crate::kinds(files));
    ((relocatable as u64) << 32) | linked as u64
}
