//! The rate ceiling of an attempt, shared by its streams.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use headrace_core::rate::RateLimit;
use headrace_io::sockopt;
use parking_lot::Mutex;

/// Longest single sleep, so that a stop or a new rate is noticed soon.
const MAX_SLEEP: Duration = Duration::from_millis(50);

/// A rate limit with a clock, and the sockets that share it.
#[derive(Debug)]
pub struct Pace {
    start: Instant,
    state: Mutex<State>,
    /// The kernel paces each to its share, so that a new rate also holds for what waits in it already.
    sockets: Mutex<Vec<(u64, TcpStream)>>,
}

/// A socket's place among those that share a rate; given back when it is dropped.
#[derive(Debug)]
pub struct Paced<'p> {
    pace: &'p Pace,
    number: u64,
}

#[derive(Debug)]
struct State {
    limit: RateLimit,
    rate_bps: Option<u64>,
    /// About what its share of links gives it now.
    share_bps: Option<u64>,
}

impl Pace {
    /// A pace of so many bits per second, or none.
    #[must_use]
    pub fn new(rate_bps: Option<u64>) -> Self {
        let limit = RateLimit::new(rate_bps, Duration::ZERO);
        Self {
            start: Instant::now(),
            state: Mutex::new(State {
                limit,
                rate_bps,
                share_bps: None,
            }),
            sockets: Mutex::default(),
        }
    }

    /// The rate in bits per second.
    #[must_use]
    pub fn rate_bps(&self) -> Option<u64> {
        self.state.lock().rate_bps
    }

    /// Change the rate at once.
    pub fn set_rate(&self, rate_bps: Option<u64>) {
        let now = self.start.elapsed();
        let mut state = self.state.lock();
        if state.rate_bps != rate_bps {
            state.rate_bps = rate_bps;
            state.limit.set_rate(rate_bps, now);
            drop(state);
            self.share_out(&self.sockets.lock());
        }
    }

    /// Let the kernel pace at this rate, too, if it is one; it is another one again soon.
    pub fn follow(&self, share_bps: u64) {
        let share_bps = Some(share_bps).filter(|bps| *bps < u64::MAX);
        let before = std::mem::replace(&mut self.state.lock().share_bps, share_bps);
        if before != share_bps {
            self.share_out(&self.sockets.lock());
        }
    }

    /// Let a socket share the rate as long as what this gives is kept.
    ///
    /// # Errors
    /// When the socket cannot be duplicated.
    pub fn join(&self, socket: &TcpStream) -> std::io::Result<Paced<'_>> {
        let socket = socket.try_clone()?;
        let mut sockets = self.sockets.lock();
        let number = sockets.last().map_or(0, |(last, _)| last + 1);
        sockets.push((number, socket));
        self.share_out(&sockets);
        Ok(Paced { pace: self, number })
    }

    fn share_out(&self, sockets: &[(u64, TcpStream)]) {
        let count = u64::try_from(sockets.len()).unwrap_or(u64::MAX).max(1);
        // A little above the share: the rate itself is held by the bucket that all share.
        let (rate, share) = {
            let state = self.state.lock();
            (state.rate_bps, state.share_bps)
        };
        let least = rate.into_iter().chain(share).min();
        let share = least.map(|rate| (rate / 8 / count).saturating_mul(5) / 4);
        for (_, socket) in sockets {
            sockopt::set_max_pacing(socket, share);
        }
    }

    /// Wait until `bytes` more may pass, or `is_over`.
    pub fn wait(&self, bytes: u64, is_over: &dyn Fn() -> bool) {
        let mut left = self.state.lock().limit.take(bytes, self.start.elapsed());
        while !left.is_zero() && !is_over() {
            std::thread::sleep(left.min(MAX_SLEEP));
            // Zero bytes: how long does what was taken still have to wait, at the rate of now?
            left = self.state.lock().limit.take(0, self.start.elapsed());
        }
    }
}

impl Drop for Paced<'_> {
    fn drop(&mut self) {
        let mut sockets = self.pace.sockets.lock();
        sockets.retain(|(number, _)| *number != self.number);
        self.pace.share_out(&sockets);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_new_rate_reaches_every_socket_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let sockets = [0; 4].map(|_| TcpStream::connect(address).expect("a socket"));
        let paces = || {
            sockets
                .each_ref()
                .map(|socket| sockopt::max_pacing(socket).expect("the kernel says"))
        };
        let pace = Pace::new(None);
        let mut joined: Vec<_> = sockets
            .iter()
            .map(|socket| pace.join(socket).expect("joined"))
            .collect();
        assert_eq!(paces(), [None; 4]);
        pace.set_rate(Some(8_000_000));
        assert_eq!(paces(), [Some(312_500); 4]);
        // Who leaves makes room for the others.
        joined.truncate(2);
        assert_eq!(paces()[..2], [Some(625_000); 2]);
        pace.follow(4_000_000);
        assert_eq!(paces()[..2], [Some(312_500); 2]);
        pace.follow(80_000_000);
        assert_eq!(paces()[..2], [Some(625_000); 2]);
        pace.set_rate(None);
        pace.follow(u64::MAX);
        assert_eq!(paces()[..2], [None; 2]);
    }
}
