//! A packet as a TUN device with offloads hands it over: up to 64 KiB of one TCP stream behind one header, which the kernel would cut into
//! segments for a wire.

/// Bytes of the offload header before each packet (`struct virtio_net_hdr`).
const OFFLOAD_BYTES: usize = 10;
const NEEDS_CHECKSUM: u8 = 1;
const NO_SEGMENTS: u8 = 0;
const TCP_OVER_IP_4: u8 = 1;
const CONGESTION: u8 = 0x80;
const TCP: u8 = 6;
const IP_BYTES: usize = 20;
const TCP_BYTES: usize = 20;
/// Flags of TCP that only the first or the last segment of a packet keeps.
const FIN: u8 = 0x01;
const PUSH: u8 = 0x08;
const REDUCED: u8 = 0x80;

/// A packet with its offload header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    bytes: Vec<u8>,
    /// Where the TCP payload begins, for packets of many segments.
    payload: usize,
    /// Payload bytes of a segment; 0 when the packet is one.
    segment_bytes: usize,
}

impl Packet {
    /// Read what a device handed over; `None` when it is no IPv4 packet, which nobody here has sent.
    pub(crate) fn new(bytes: Vec<u8>) -> Option<Self> {
        let packet = Self {
            bytes,
            payload: 0,
            segment_bytes: 0,
        };
        let ip = packet.bytes.get(OFFLOAD_BYTES..)?;
        if ip.len() < IP_BYTES || ip[0] >> 4 != 4 {
            return None;
        }
        if packet.bytes[1] & !CONGESTION == NO_SEGMENTS {
            return Some(packet);
        }
        let tcp = OFFLOAD_BYTES + usize::from(ip[0] & 0x0f) * 4;
        let payload = tcp + usize::from(packet.bytes.get(tcp + 12)? >> 4) * 4;
        let segment_bytes = usize::from(u16::from_ne_bytes([packet.bytes[4], packet.bytes[5]]));
        let whole = packet.bytes[1] & !CONGESTION == TCP_OVER_IP_4
            && ip[9] == TCP
            && segment_bytes > 0
            && payload >= tcp + TCP_BYTES
            && payload < packet.bytes.len();
        whole.then_some(Self {
            payload,
            segment_bytes,
            ..packet
        })
    }

    /// What a device takes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The last number of the address that it goes to.
    pub(crate) fn destination(&self) -> [u8; 4] {
        let at = OFFLOAD_BYTES + 16;
        [
            self.bytes[at],
            self.bytes[at + 1],
            self.bytes[at + 2],
            self.bytes[at + 3],
        ]
    }

    /// How many packets of a wire it stands for.
    pub(crate) fn segments(&self) -> usize {
        if self.segment_bytes == 0 {
            1
        } else {
            (self.bytes.len() - self.payload).div_ceil(self.segment_bytes)
        }
    }

    /// Bytes on a wire, the header of each segment included.
    pub(crate) fn wire_bytes(&self) -> usize {
        let headers = self.payload.saturating_sub(OFFLOAD_BYTES);
        self.bytes.len() - OFFLOAD_BYTES + (self.segments() - 1) * headers
    }

    /// Cut it after so many segments, at least one and less than all.
    pub(crate) fn split(mut self, segments: usize) -> (Self, Self) {
        let cut = self.payload + segments * self.segment_bytes;
        let tail = self.bytes.split_off(cut);
        let mut rest = self.bytes[..self.payload].to_vec();
        rest.extend_from_slice(&tail);
        let mut rest = Self {
            bytes: rest,
            ..self
        };
        let tcp = self.tcp();
        let sent = u32::try_from(segments * self.segment_bytes).unwrap_or(u32::MAX);
        let number = u32::from_be_bytes(rest.four(tcp + 4)).wrapping_add(sent);
        rest.bytes[tcp + 4..tcp + 8].copy_from_slice(&number.to_be_bytes());
        rest.bytes[tcp + 13] &= !REDUCED;
        self.bytes[tcp + 13] &= !(FIN | PUSH);
        self.mend();
        rest.mend();
        (self, rest)
    }

    fn tcp(&self) -> usize {
        OFFLOAD_BYTES + usize::from(self.bytes[OFFLOAD_BYTES] & 0x0f) * 4
    }

    fn four(&self, at: usize) -> [u8; 4] {
        [
            self.bytes[at],
            self.bytes[at + 1],
            self.bytes[at + 2],
            self.bytes[at + 3],
        ]
    }

    /// Lengths and checksums after a cut. The kernel completes TCP's checksum, which holds the sum of addresses and length until then.
    fn mend(&mut self) {
        let tcp = self.tcp();
        let length = u16::try_from(self.bytes.len() - OFFLOAD_BYTES).unwrap_or(u16::MAX);
        self.bytes[OFFLOAD_BYTES + 2..OFFLOAD_BYTES + 4].copy_from_slice(&length.to_be_bytes());
        self.bytes[OFFLOAD_BYTES + 10..OFFLOAD_BYTES + 12].fill(0);
        let header = !sum(&self.bytes[OFFLOAD_BYTES..tcp]);
        self.bytes[OFFLOAD_BYTES + 10..OFFLOAD_BYTES + 12].copy_from_slice(&header.to_be_bytes());
        let mut pseudo = [0; 12];
        pseudo[..8].copy_from_slice(&self.bytes[OFFLOAD_BYTES + 12..OFFLOAD_BYTES + 20]);
        pseudo[9] = TCP;
        let of_tcp = u16::try_from(self.bytes.len() - tcp).unwrap_or(u16::MAX);
        pseudo[10..].copy_from_slice(&of_tcp.to_be_bytes());
        let partial = sum(&pseudo);
        self.bytes[tcp + 16..tcp + 18].copy_from_slice(&partial.to_be_bytes());
        if self.segments() == 1 {
            self.bytes[1] = NO_SEGMENTS;
            self.bytes[4..6].fill(0);
            self.segment_bytes = 0;
        }
        debug_assert!(
            self.bytes[0] & NEEDS_CHECKSUM != 0,
            "offloaded packets want a checksum"
        );
    }
}

/// The one's complement sum of the Internet protocols.
fn sum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(u16::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const HEADERS: usize = IP_BYTES + TCP_BYTES;

    /// A packet from 10.77.0.1 to 10.77.0.2 with so much payload in segments of 1000 bytes.
    pub(crate) fn packet(payload_bytes: usize) -> Packet {
        let mut bytes = vec![0; OFFLOAD_BYTES + HEADERS];
        bytes[0] = NEEDS_CHECKSUM;
        bytes[1] = TCP_OVER_IP_4;
        bytes[4..6].copy_from_slice(&1000_u16.to_ne_bytes());
        let ip = &mut bytes[OFFLOAD_BYTES..];
        ip[0] = 0x45;
        ip[9] = TCP;
        ip[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        ip[IP_BYTES + 4..IP_BYTES + 8].copy_from_slice(&u32::MAX.to_be_bytes());
        ip[IP_BYTES + 12] = 0x50;
        ip[IP_BYTES + 13] = FIN | PUSH | REDUCED;
        bytes.extend((0..payload_bytes).map(|at| u8::try_from(at % 251).unwrap_or(0)));
        Packet::new(bytes).expect("a packet")
    }

    #[test]
    fn a_packet_counts_as_what_a_wire_would_carry() {
        let whole = packet(2500);
        assert_eq!(
            (whole.segments(), whole.wire_bytes()),
            (3, 2500 + 3 * HEADERS)
        );
        assert_eq!(whole.destination(), [10, 77, 0, 2]);
    }

    #[test]
    fn a_packet_that_is_cut_becomes_two_that_go_on_from_each_other() {
        let (first, rest) = packet(2500).split(2);
        assert_eq!((first.segments(), rest.segments()), (2, 1));
        let tcp = OFFLOAD_BYTES + IP_BYTES;
        // The number wraps: the first began at 2^32 - 1.
        assert_eq!(rest.four(tcp + 4), 1999_u32.to_be_bytes());
        assert_eq!(first.bytes[tcp + 13], REDUCED);
        assert_eq!(rest.bytes[tcp + 13], FIN | PUSH);
        assert_eq!(
            (first.bytes[1], rest.bytes[1]),
            (TCP_OVER_IP_4, NO_SEGMENTS)
        );
        let payload = |packet: &Packet| packet.bytes[OFFLOAD_BYTES + HEADERS..].to_vec();
        assert_eq!(
            [payload(&first), payload(&rest)].concat(),
            payload(&packet(2500))
        );
        for part in [&first, &rest] {
            let ip = &part.bytes[OFFLOAD_BYTES..];
            assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), ip.len());
            assert_eq!(sum(&ip[..IP_BYTES]), 0xffff, "its checksum holds");
        }
    }

    #[test]
    fn what_is_no_packet_of_ours_is_not_taken() {
        assert_eq!(Packet::new(Vec::new()), None);
        let mut six = packet(10).into_bytes();
        six[OFFLOAD_BYTES] = 0x60;
        assert_eq!(Packet::new(six), None);
        let mut endless = packet(10).into_bytes();
        endless[4..6].fill(0);
        assert_eq!(Packet::new(endless), None);
    }
}
