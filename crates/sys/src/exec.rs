//! Turning the process into another program.

use std::ffi::{CStr, CString};
use std::io;

/// Strings in the form exec wants them: pointers into terminated strings, ended by a null pointer.
struct Vector<'a> {
    pointers: Vec<*const libc::c_char>,
    _strings: std::marker::PhantomData<&'a CStr>,
}

impl<'a> Vector<'a> {
    fn new(strings: &'a [CString]) -> Self {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self { pointers, _strings: std::marker::PhantomData }
    }
}

/// Replaces the program. Returns only on failure, with the reason.
#[must_use]
pub fn execve(path: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let arguments = Vector::new(arguments);
    let environment = Vector::new(environment);
    // SAFETY: all strings are terminated, both vectors end with a null pointer, everything outlives the call.
    unsafe { libc::execve(path.as_ptr(), arguments.pointers.as_ptr(), environment.pointers.as_ptr()) };
    io::Error::last_os_error()
}
