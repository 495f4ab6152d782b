//! The TUN device of a host, and the namespace that it is in.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use crate::host::Host;

/// What a host's device is called.
pub(crate) const DEVICE: &str = "lab0";
/// Packets that the kernel keeps for us while we are busy.
const QUEUE_PACKETS: &str = "20000";

/// Take this thread to a new network namespace, and make the device of `host` in it. Everything in it ends with this process.
///
/// # Errors
/// What the kernel or `ip` answers.
pub(crate) fn make(host: &Host, address: &str, packet_bytes: u16) -> io::Result<File> {
    raw::new_network()?;
    write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1")?;
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0))
        .open("/dev/net/tun")?;
    raw::become_tun(&device, DEVICE)?;
    ip(&["link", "set", "lo", "up"])?;
    ip(&["address", "add", &format!("{address}/24"), "dev", DEVICE])?;
    let mtu = packet_bytes.to_string();
    ip(&[
        "link",
        "set",
        DEVICE,
        "mtu",
        &mtu,
        "txqueuelen",
        QUEUE_PACKETS,
        "up",
    ])?;
    if let Some(bytes) = host.buffer_bytes {
        for direction in ["tcp_rmem", "tcp_wmem"] {
            write(
                &format!("/proc/sys/net/ipv4/{direction}"),
                &format!("4096 131072 {bytes}"),
            )?;
        }
    }
    Ok(device)
}

fn write(path: &str, value: &str) -> io::Result<()> {
    std::fs::write(path, value)
        .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
}

/// Run `ip` in the namespace of this thread.
fn ip(words: &[&str]) -> io::Result<()> {
    let ran = Command::new("ip").args(words).stdin(Stdio::null()).output();
    let ran =
        ran.map_err(|error| io::Error::new(error.kind(), format!("`ip` of iproute2: {error}")))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    Err(io::Error::other(format!(
        "ip {}: {}",
        words.join(" "),
        said.trim()
    )))
}

#[expect(unsafe_code, reason = "three system calls, each with its proof")]
mod raw {
    use std::fs::File;
    use std::io;

    use rustix::ioctl::{IntegerSetter, Updater, ioctl, opcode};
    use rustix::thread::{UnshareFlags, unshare_unsafe};

    const MAKE: u32 = opcode::write::<i32>(b'T', 202);
    const OFFLOAD: u32 = opcode::write::<u32>(b'T', 208);
    const TUN: u16 = 0x0001;
    const NO_PACKET_INFORMATION: u16 = 0x1000;
    const OFFLOAD_HEADER: u16 = 0x4000;
    const CHECKSUMS: usize = 0x01;
    const SEGMENTS_IP_4: usize = 0x02;
    /// Where a `struct ifreq` has its name and its flags, and how long it is.
    const NAME_BYTES: usize = 16;
    const REQUEST_BYTES: usize = 40;

    /// Take this thread to a network namespace of its own.
    pub(super) fn new_network() -> io::Result<()> {
        // SAFETY: a network namespace has no part in memory or descriptors, which this call could else take from under other threads.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        Ok(())
    }

    /// Make a TUN device of this name, with offloads, out of an open `/dev/net/tun`.
    pub(super) fn become_tun(device: &File, name: &str) -> io::Result<()> {
        let mut request = [0_u8; REQUEST_BYTES];
        request[..name.len().min(NAME_BYTES - 1)].copy_from_slice(name.as_bytes());
        let flags = TUN | NO_PACKET_INFORMATION | OFFLOAD_HEADER;
        request[NAME_BYTES..NAME_BYTES + 2].copy_from_slice(&flags.to_ne_bytes());
        // SAFETY: TUNSETIFF reads and writes a `struct ifreq`, which is 40 bytes without pointers here.
        unsafe {
            ioctl(
                device,
                Updater::<MAKE, [u8; REQUEST_BYTES]>::new(&mut request),
            )?;
        }
        // SAFETY: TUNSETOFFLOAD takes its flags as an integer.
        unsafe {
            ioctl(
                device,
                IntegerSetter::<OFFLOAD>::new_usize(CHECKSUMS | SEGMENTS_IP_4),
            )?;
        }
        Ok(())
    }
}
