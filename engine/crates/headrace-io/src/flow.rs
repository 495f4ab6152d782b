//! What the kernel knows of a TCP connection (`TCP_INFO`): what a diagnosis of a transfer is made of.

use std::io;
use std::net::TcpStream;

use rustix::net::sockopt;
use rustix::thread::{Pid, gettid};
use serde::{Deserialize, Serialize};

use crate::sockopt::tcp_info;

/// One data connection as the kernel of this end sees it. Counts and times begin with the connection; what a kernel does not tell is 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flow {
    /// Its number in the session.
    pub stream: u64,
    /// How long it has been open.
    pub age_us: u64,
    /// Name of the congestion control.
    pub congestion_control: String,
    /// Smoothed round trip of what this end sends.
    pub rtt_us: u64,
    /// Shortest round trip.
    pub min_rtt_us: u64,
    /// Round trip as the end that receives estimates it.
    pub receive_rtt_us: u64,
    /// Congestion window.
    pub cwnd_packets: u64,
    /// Bytes of a packet that is sent, without its headers.
    pub mss_bytes: u64,
    /// Bits per second that the other end last took.
    pub delivery_rate_bps: u64,
    /// Bits per second that the kernel sends at most; 0 for no limit.
    pub pacing_rate_bps: u64,
    /// Packets with data that were sent, those sent again included.
    pub sent_packets: u64,
    /// Packets that were sent again.
    pub retransmits: u64,
    /// How often packets arrived in another order.
    pub reorderings: u64,
    /// Time in which there was something to send or to be acknowledged.
    pub busy_us: u64,
    /// Part of it in which the receive window of the other end was full.
    pub rwnd_limited_us: u64,
    /// Part of it in which the send buffer was full.
    pub sndbuf_limited_us: u64,
    /// Time in which there was nothing to send.
    pub app_limited_us: u64,
    /// Bytes that wait in the kernel unsent.
    pub unsent_bytes: u64,
    /// What the other end allows to be on its way.
    pub send_window_bytes: u64,
    /// What this end would allow at most to be on its way to it, as its memory is now.
    pub receive_window_bytes: u64,
    /// Bytes that the other end acknowledged.
    pub acknowledged_bytes: u64,
    /// Bytes that arrived.
    pub received_bytes: u64,
    /// Time that the thread which serves the connection was computing.
    pub cpu_us: u64,
    /// Time in which it could have, and no processor was free for it.
    pub cpu_wait_us: u64,
}

/// A thread whose processor time can be asked for, by any thread of the process.
#[derive(Debug, Clone, Copy)]
pub struct Worker(Pid);

impl Worker {
    /// The thread that calls this.
    #[must_use]
    pub fn current() -> Self {
        Self(gettid())
    }

    /// Microseconds that it was computing, and that it waited for a processor; zeros where the kernel does not count them.
    fn times_us(self) -> (u64, u64) {
        let path = format!("/proc/self/task/{}/schedstat", self.0);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut times = text
            .split_ascii_whitespace()
            .map(|nanoseconds| nanoseconds.parse::<u64>().map_or(0, |time| time / 1000));
        (times.next().unwrap_or(0), times.next().unwrap_or(0))
    }
}

impl Flow {
    /// What the kernel says of a connection, and of the thread that serves it, now.
    ///
    /// # Errors
    /// What the kernel answers: in some sandboxes it does not say.
    pub fn of(socket: &TcpStream, worker: Worker, stream: u16, age_us: u64) -> io::Result<Self> {
        let (cpu_us, cpu_wait_us) = worker.times_us();
        let mut info = [0; INFO_BYTES];
        let length = tcp_info(socket, &mut info)?;
        let flow = Self::parse(&info[..length.min(INFO_BYTES)]);
        Ok(Self {
            stream: stream.into(),
            age_us,
            app_limited_us: age_us.saturating_sub(flow.busy_us),
            congestion_control: sockopt::tcp_congestion(socket)?,
            cpu_us,
            cpu_wait_us,
            ..flow
        })
    }

    /// Read by position, as in `linux/tcp.h`: fields are only ever added at the end.
    fn parse(info: &[u8]) -> Self {
        let short = |at: usize| {
            let bytes = info.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            u64::from(bytes.map_or(0, u32::from_ne_bytes))
        };
        let long = |at: usize| {
            let bytes = info.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_ne_bytes)
        };
        let bps = |at| match long(at) {
            u64::MAX => 0,
            bytes => bytes.saturating_mul(8),
        };
        Self {
            mss_bytes: short(16),
            receive_window_bytes: short(64),
            rtt_us: short(68),
            cwnd_packets: short(80),
            receive_rtt_us: short(92),
            retransmits: short(100),
            pacing_rate_bps: bps(104),
            acknowledged_bytes: long(120),
            received_bytes: long(128),
            unsent_bytes: short(144),
            // The kernel's word for "never measured" is the largest number.
            min_rtt_us: Some(short(148))
                .filter(|us| *us != u64::from(u32::MAX))
                .unwrap_or(0),
            sent_packets: short(156),
            delivery_rate_bps: bps(160),
            busy_us: long(168),
            rwnd_limited_us: long(176),
            sndbuf_limited_us: long(184),
            reorderings: short(220),
            send_window_bytes: short(228),
            ..Self::default()
        }
    }
}

/// As much of the kernel's answer as is read.
const INFO_BYTES: usize = 232;

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_kernel_tells_what_went_over_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let mut near = TcpStream::connect(address).expect("connected");
        let (mut far, _) = listener.accept().expect("a caller");
        let mut bytes = vec![0; 1 << 20];
        std::thread::scope(|scope| {
            scope.spawn(|| near.write_all(&vec![7; 1 << 20]).expect("sent"));
            far.read_exact(&mut bytes).expect("received");
        });
        let age_us = 60_000_000;
        let worker = Worker::current();
        let sender = Flow::of(&near, worker, 3, age_us).expect("the kernel says");
        let receiver = Flow::of(&far, worker, 3, age_us).expect("the kernel says");
        assert_eq!((sender.stream, sender.age_us), (3, age_us));
        assert_eq!(receiver.received_bytes, 1 << 20);
        assert!(sender.rtt_us > 0 && sender.min_rtt_us <= sender.rtt_us);
        assert!(sender.cwnd_packets > 0 && sender.mss_bytes > 500);
        assert!(sender.sent_packets * sender.mss_bytes >= 1 << 20);
        assert!(sender.delivery_rate_bps > 0);
        assert_eq!(sender.app_limited_us, age_us - sender.busy_us);
        assert!(!sender.congestion_control.is_empty());
    }

    #[test]
    fn the_kernel_tells_how_long_a_thread_computed() {
        let worker = Worker::current();
        let before = worker.times_us();
        let begun = std::time::Instant::now();
        while worker.times_us().0 < before.0 + 20_000 {
            assert!(begun.elapsed().as_secs() < 30, "it computes all the time");
        }
        let elapsed_us = begun.elapsed().as_micros();
        let after = worker.times_us();
        let counted = after.0 - before.0 + after.1 - before.1;
        assert!(u128::from(counted) <= elapsed_us + 20_000);
        // One that has ended, or a kernel that does not count.
        assert_eq!(Worker(Pid::INIT).times_us(), (0, 0));
    }

    #[test]
    fn a_kernel_that_tells_less_leaves_the_rest_at_zero() {
        let mut info = [1_u8; 104];
        info[68..72].copy_from_slice(&250_u32.to_ne_bytes());
        let flow = Flow::parse(&info);
        assert_eq!(
            (flow.rtt_us, flow.busy_us, flow.delivery_rate_bps),
            (250, 0, 0)
        );
    }
}
