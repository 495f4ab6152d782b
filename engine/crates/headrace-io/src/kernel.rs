//! What of a host only system calls tell, and no file. They take no privilege, and each of them reads: none sets anything.

use std::io;

/// The ring of a network card in which received packets wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveRing {
    /// Packets that it holds.
    pub packets: u32,
    /// Packets that it could hold.
    pub max_packets: u32,
}

/// How many received packets the card of an interface holds.
///
/// # Errors
/// What the kernel answers: interfaces without a card have no ring.
pub fn receive_ring(interface: &str) -> io::Result<ReceiveRing> {
    const GET_RINGS: u32 = 0x10;
    // `struct ethtool_ringparam`: the command, four largest sizes, four sizes.
    let mut told = [0; 9];
    raw::ethtool(interface, GET_RINGS, &mut told)?;
    Ok(ReceiveRing {
        packets: told[5],
        max_packets: told[1],
    })
}

/// Which of the offloads that matter to transfers (tso, gso, gro) an interface has turned off.
///
/// # Errors
/// What the kernel answers.
pub fn offloads_off(interface: &str) -> io::Result<Vec<&'static str>> {
    const OFFLOADS: [(&str, u32); 3] = [("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];
    let mut off = Vec::new();
    for (name, command) in OFFLOADS {
        // `struct ethtool_value`: the command, and whether it is on.
        let mut told = [0; 2];
        raw::ethtool(interface, command, &mut told)?;
        if told[1] == 0 {
            off.push(name);
        }
    }
    Ok(off)
}

/// Whether something keeps the host's clock right, as far as the kernel knows.
///
/// # Errors
/// What the kernel answers: some containers may not ask.
pub fn clock_is_synchronised() -> io::Result<bool> {
    Ok(raw::clock_status()? & libc::STA_UNSYNC == 0)
}

#[expect(unsafe_code, reason = "two system calls, each with its proof")]
mod raw {
    use std::io;
    use std::mem;
    use std::os::fd::AsRawFd;

    use rustix::net::{AddressFamily, SocketType, socket};

    /// Ask the driver of an interface; `told` is as long as what the kernel writes for this command, and gets it.
    pub(super) fn ethtool<const WORDS: usize>(
        interface: &str,
        command: u32,
        told: &mut [u32; WORDS],
    ) -> io::Result<()> {
        // SAFETY: an `ifreq` is integers, arrays of them and a union of such and of pointers: all zeros is a value of each.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        // The last byte stays zero, which ends the name.
        if interface.len() >= request.ifr_name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = libc::c_char::from_ne_bytes([byte]);
        }
        told[0] = command;
        request.ifr_ifru.ifru_data = told.as_mut_ptr().cast();
        let asks = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        // SAFETY: the descriptor is open while `asks` lives; the kernel reads the name, which ends within its array, and the command, and
        // writes the command's struct to `told`, which the callers above make as long as that and which outlives the call.
        let answer = unsafe { libc::ioctl(asks.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
        if answer == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The status bits of the kernel's clock.
    pub(super) fn clock_status() -> io::Result<i32> {
        // SAFETY: a `timex` is integers: all zeros is a value of each. Without modes the kernel changes nothing.
        let mut clock: libc::timex = unsafe { mem::zeroed() };
        // SAFETY: the kernel writes one `timex` to `clock`, which outlives the call.
        if unsafe { libc::adjtimex(&raw mut clock) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(clock.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_without_a_card_has_offloads_and_no_ring() {
        assert!(offloads_off("lo").is_ok());
        assert!(receive_ring("lo").is_err());
    }

    #[test]
    fn a_name_that_no_interface_can_have_is_refused() {
        assert!(offloads_off("").is_err());
        let long = offloads_off(&"a".repeat(16)).expect_err("too long");
        assert_eq!(long.kind(), io::ErrorKind::InvalidInput);
        assert!(offloads_off("no-such-link").is_err());
    }
}
