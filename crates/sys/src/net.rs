//! One kind of connection: to a client that waits for us, without waiting ourselves.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use crate::check;

/// Starts a connection and returns at once. When the descriptor can be written, [`connected`] tells how it went.
///
/// # Errors
/// `EMFILE`, `ENETUNREACH` and others that are known at once.
pub fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes numbers only.
    let fd = check(unsafe { libc::socket(family, kind, 0) })?;
    // SAFETY: the call made a new descriptor that nobody else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let result = match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: V4,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: the pointer is valid for the length, which is the structure's.
            unsafe { libc::connect(socket.as_fd().as_raw_fd(), (&raw const raw).cast(), length(&raw)) }
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: V6,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: the pointer is valid for the length, which is the structure's.
            unsafe { libc::connect(socket.as_fd().as_raw_fd(), (&raw const raw).cast(), length(&raw)) }
        }
    };
    match check(result) {
        Ok(_) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(error) => return Err(error),
    }
    Ok(TcpStream::from(socket))
}

/// AF_INET and AF_INET6 in the width of their field.
const V4: libc::sa_family_t = 2;
const V6: libc::sa_family_t = 10;

// The structures are a few bytes long.
#[allow(clippy::cast_possible_truncation)]
const fn length<T>(_: &T) -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}

/// Whether a started connection stands.
///
/// # Errors
/// Why it does not: `ECONNREFUSED`, `ETIMEDOUT`, …
pub fn connected(socket: &TcpStream) -> io::Result<()> {
    match socket.take_error()? {
        Some(error) => Err(error),
        None => Ok(()),
    }
}
