//! Socket options that the standard library and rustix do not know.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt;

/// Limit how fast the kernel sends on this socket, in bytes per second; `None` lifts the limit. Works without the `fq` queueing
/// discipline. Best effort: the engine's own rate limit holds without it, only less smoothly.
pub fn set_max_pacing(socket: &TcpStream, bytes_per_second: Option<u64>) {
    let rate = bytes_per_second.unwrap_or(u64::MAX).to_ne_bytes();
    if let Err(error) = raw::set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate) {
        tracing::debug!(%error, "the kernel does not pace this socket");
    }
}

/// How fast the kernel sends on this socket at most, in bytes per second; `None` without a limit.
///
/// # Errors
/// What the kernel answers.
pub fn max_pacing(socket: &TcpStream) -> io::Result<Option<u64>> {
    let mut rate = [0; 8];
    raw::get(
        socket,
        libc::SOL_SOCKET,
        libc::SO_MAX_PACING_RATE,
        &mut rate,
    )?;
    let rate = u64::from_ne_bytes(rate);
    Ok((rate != u64::MAX).then_some(rate))
}

/// Let the kernel give up a connection whose other side takes nothing for so long, hold at most about `unsent_bytes` that are not sent
/// yet, and send small frames at once. Best effort.
pub fn prepare(socket: &TcpStream, stalled_after: Duration, unsent_bytes: u32) {
    let milliseconds = u32::try_from(stalled_after.as_millis()).unwrap_or(u32::MAX);
    let prepared = sockopt::set_tcp_user_timeout(socket, milliseconds)
        .and_then(|()| sockopt::set_socket_keepalive(socket, true))
        .and_then(|()| sockopt::set_tcp_nodelay(socket, true));
    if let Err(error) = prepared {
        tracing::debug!(%error, "a socket option is not supported");
    }
    // Else `tcp_wmem` alone bounds what waits here, which on tuned hosts is hundreds of megabytes a socket.
    let unsent = unsent_bytes.to_ne_bytes();
    if let Err(error) = raw::set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &unsent) {
        tracing::debug!(%error, "the kernel does not bound what waits in this socket");
    }
}

/// What the kernel says of a connection, as it lies in memory; gives how many bytes that are.
pub(crate) fn tcp_info(socket: &TcpStream, info: &mut [u8]) -> io::Result<usize> {
    raw::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, info)
}

#[expect(unsafe_code, reason = "two system calls, each with its proof")]
mod raw {
    use std::io;
    use std::net::TcpStream;
    use std::os::fd::AsRawFd;

    /// Set an option whose value is an integer, given in the bytes that this machine holds it in.
    pub(super) fn set(socket: &TcpStream, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
        let length = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
        // SAFETY: the descriptor is open while `socket` is borrowed; the pointer and length describe `value`, which outlives the call,
        // and the kernel only reads it. An option that wants more bytes than these refuses them.
        let answer = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                option,
                value.as_ptr().cast(),
                length,
            )
        };
        if answer == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Read an option into these bytes; gives how many of them the kernel wrote.
    pub(super) fn get(
        socket: &TcpStream,
        level: i32,
        option: i32,
        value: &mut [u8],
    ) -> io::Result<usize> {
        let mut length = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
        // SAFETY: the descriptor is open while `socket` is borrowed; the pointers describe `value` and `length`, which outlive the call,
        // and the kernel writes at most `length` bytes to the first.
        let answer = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                level,
                option,
                value.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if answer == 0 {
            usize::try_from(length).map_err(io::Error::other)
        } else {
            Err(io::Error::last_os_error())
        }
    }
}
