//! What a host is asked to be: `NAME[:rtt=50ms,rate=1Gb/s,loss=0.1%,queue=8MiB,buffers=256MiB]`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use headrace_core::text::{bit_rate, byte_size, read_rate};

/// Most hosts of a lab: each has a thread of its own.
pub const MAX_HOSTS: usize = 64;
/// Bytes that wait before a line with a rate, unless the host says otherwise: 64 ms at 1 Gb/s.
const QUEUE_BYTES: u64 = 8 << 20;
const MAX_NAME: usize = 32;
const MAX_ROUND_TRIP: Duration = Duration::from_secs(10);

/// A host and the line that joins it to the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// What it is called.
    pub name: String,
    /// From the host to the middle of the lab and back: between two hosts it is the sum of both. Default 0.
    pub round_trip: Duration,
    /// What the line carries each way, in bits per second. Default: as much as the machine can.
    pub rate_bps: Option<u64>,
    /// The share of packets that is lost each way, from 0 to 1. Default 0.
    pub loss: f64,
    /// Bytes that wait at most before a line with a rate; what comes on top is dropped. Default 8 MiB.
    pub queue_bytes: u64,
    /// What a TCP socket of the host may buffer at most. Default: as on this machine.
    pub buffer_bytes: Option<u64>,
}

/// Why a host can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Its name.
    #[error("`{0}` cannot be the name of a host: use 1 to 32 letters, digits and `-`")]
    Name(String),
    /// What it is asked to be.
    #[error(
        "`{0}` is not known of a host: write rtt=50ms, rate=1Gb/s, loss=0.1%, queue=8MiB or buffers=256MiB"
    )]
    Option(String),
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let named = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(named) {
            return Err(HostError::Name(name.to_owned()));
        }
        let mut host = Self {
            name: name.to_owned(),
            round_trip: Duration::ZERO,
            rate_bps: None,
            loss: 0.0,
            queue_bytes: QUEUE_BYTES,
            buffer_bytes: None,
        };
        for option in options.split(',').filter(|option| !option.is_empty()) {
            host.set(option)
                .ok_or_else(|| HostError::Option(option.to_owned()))?;
        }
        Ok(host)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} round trip", self.round_trip)?;
        if let Some(rate) = self.rate_bps {
            write!(
                f,
                ", {}, queue {}",
                bit_rate(rate),
                byte_size(self.queue_bytes)
            )?;
        }
        if self.loss > 0.0 {
            write!(f, ", {:.3}% lost", self.loss * 100.0)?;
        }
        match self.buffer_bytes {
            Some(bytes) => write!(f, ", socket buffers up to {}", byte_size(bytes)),
            None => Ok(()),
        }
    }
}

impl Host {
    fn set(&mut self, option: &str) -> Option<()> {
        let (key, value) = option.split_once('=')?;
        match key {
            "rtt" => {
                self.round_trip = read_duration(value).filter(|trip| *trip <= MAX_ROUND_TRIP)?;
            }
            "rate" => self.rate_bps = Some(read_rate(value).filter(|rate| *rate > 0)?),
            "loss" => {
                let percent: f64 = value.strip_suffix('%')?.parse().ok()?;
                self.loss = Some(percent / 100.0).filter(|loss| (0.0..1.0).contains(loss))?;
            }
            "queue" => self.queue_bytes = read_size(value)?,
            "buffers" => self.buffer_bytes = Some(read_size(value)?),
            _ => return None,
        }
        Some(())
    }
}

fn read_duration(text: &str) -> Option<Duration> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let number: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

fn read_size(text: &str) -> Option<u64> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    // A queue holds one packet at least, and a socket buffer fits the kernel's 32 bits.
    let bytes = number.parse::<u64>().ok()?.checked_mul(*unit)?;
    (64 << 10..1 << 31).contains(&bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_what_its_text_says() {
        let text = "far:rtt=50ms,rate=1Gb/s,loss=0.1%,queue=4MiB,buffers=256MiB";
        let far: Host = text.parse().expect("a host");
        let expected = Host {
            name: "far".to_owned(),
            round_trip: Duration::from_millis(50),
            rate_bps: Some(1_000_000_000),
            loss: 0.001,
            queue_bytes: 4 << 20,
            buffer_bytes: Some(256 << 20),
        };
        assert_eq!(far, expected);
        let near: Host = "near".parse().expect("a host");
        assert_eq!((near.round_trip, near.rate_bps), (Duration::ZERO, None));
    }

    #[test]
    fn what_is_not_known_of_a_host_is_refused_by_name() {
        for wrong in [
            "rtt=50",
            "rate=10M",
            "loss=0.1",
            "loss=100%",
            "queue=1",
            "queue=9GiB",
            "buffers=8",
            "delay=1ms",
            "rtt",
        ] {
            let refused = format!("far:{wrong}").parse::<Host>();
            assert_eq!(refused, Err(HostError::Option(wrong.to_owned())));
        }
        for wrong in ["", "a/b", "../x"] {
            assert_eq!(
                wrong.parse::<Host>(),
                Err(HostError::Name(wrong.to_owned()))
            );
        }
    }
}
