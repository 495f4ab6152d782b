//! Socket options that the standard library and rustix do not know.

use std::io;
use std::net::{IpAddr, TcpStream};
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

/// Mark the packets of this socket with a DSCP from 0 to 63.
///
/// # Errors
/// What the kernel answers.
pub fn set_dscp(socket: &TcpStream, dscp: u8) -> io::Result<()> {
    let (level, option) = traffic_class(socket)?;
    // The lowest two bits are those of congestion notification, which the kernel keeps for itself.
    raw::set(socket, level, option, &(i32::from(dscp) << 2).to_ne_bytes())
}

/// How the packets of this socket are marked.
///
/// # Errors
/// What the kernel answers.
pub fn dscp(socket: &TcpStream) -> io::Result<u8> {
    let (level, option) = traffic_class(socket)?;
    let mut class = [0; 4];
    raw::get(socket, level, option, &mut class)?;
    u8::try_from(i32::from_ne_bytes(class) >> 2).map_err(io::Error::other)
}

/// Packets of a socket of IPv6 that go to an address of IPv4 are marked as those of IPv4.
fn traffic_class(socket: &TcpStream) -> io::Result<(i32, i32)> {
    Ok(match socket.peer_addr()?.ip().to_canonical() {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    })
}

/// Let this socket react to loss and delay in the way that the kernel knows by this name.
///
/// # Errors
/// What the kernel answers: it does not have it, or others may use it only.
pub fn set_congestion_control(socket: &TcpStream, name: &str) -> io::Result<()> {
    raw::set(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_CONGESTION,
        name.as_bytes(),
    )
}

/// By which name the kernel knows how this socket reacts to loss and delay.
///
/// # Errors
/// What the kernel answers.
pub fn congestion_control(socket: &TcpStream) -> io::Result<String> {
    let mut name = [0; 16];
    raw::get(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name)?;
    let end = name
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
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

    /// Set an option to a value: of an integer the bytes that this machine holds it in.
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
