//! Socket options that the standard library and rustix do not know.

use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt;

/// Limit how fast the kernel sends on this socket, in bytes per second; `None` lifts the limit. Works without the `fq` queueing
/// discipline. Best effort: the engine's own rate limit holds without it, only less smoothly.
pub fn set_max_pacing(socket: &TcpStream, bytes_per_second: Option<u64>) {
    if let Err(error) = pacing::set(socket, bytes_per_second.unwrap_or(u64::MAX)) {
        tracing::debug!(%error, "the kernel does not pace this socket");
    }
}

/// Let the kernel give up a connection whose data was not acknowledged for so long, and send small frames at once. Best effort.
pub fn prepare(socket: &TcpStream, dead_after: Duration) {
    let milliseconds = u32::try_from(dead_after.as_millis()).unwrap_or(u32::MAX);
    let prepared = sockopt::set_tcp_user_timeout(socket, milliseconds)
        .and_then(|()| sockopt::set_socket_keepalive(socket, true))
        .and_then(|()| sockopt::set_tcp_nodelay(socket, true));
    if let Err(error) = prepared {
        tracing::debug!(%error, "a socket option is not supported");
    }
}

#[expect(unsafe_code, reason = "one system call, with its proof")]
mod pacing {
    use std::io;
    use std::net::TcpStream;
    use std::os::fd::AsRawFd;

    pub(super) fn set(socket: &TcpStream, bytes_per_second: u64) -> io::Result<()> {
        let length = libc::socklen_t::try_from(size_of::<u64>()).map_err(io::Error::other)?;
        // SAFETY: the descriptor is open while `socket` is borrowed; the pointer and length describe a `u64` that outlives the
        // call, the kernel only reads it, and SO_MAX_PACING_RATE takes an `unsigned long` (or `unsigned int`) of that layout.
        let answer = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MAX_PACING_RATE,
                (&raw const bytes_per_second).cast(),
                length,
            )
        };
        if answer == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}
