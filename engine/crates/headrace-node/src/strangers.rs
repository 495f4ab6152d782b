//! Connections that have not shown yet to whom they belong: limited, and those that take long make room for those that come.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Most connections that may be shaking hands at once. One more takes the place of the oldest of those from the network that has most.
const MAX_STRANGERS: usize = 128;
/// Most that may be on their way to their attempt, also those whose hands were shaken and those that are being closed.
const MAX_THREADS: usize = 4 * MAX_STRANGERS;

/// The connections of a node that belong to nobody yet.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    state: Mutex<State>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// In the order in which they came.
    waiting: Vec<Stranger>,
    threads: usize,
}

#[derive(Debug)]
struct Stranger {
    number: u64,
    network: IpAddr,
    socket: TcpStream,
}

/// The place of a connection, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    strangers: Arc<Strangers>,
    number: u64,
}

impl Strangers {
    /// A place for a connection.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`] when too many are on their way, or what the kernel answers.
    pub(crate) fn admit(self: &Arc<Self>, socket: impl AsFd) -> io::Result<Admitted> {
        let socket = TcpStream::from(socket.as_fd().try_clone_to_owned()?);
        let stranger = Stranger {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            network: network(socket.peer_addr()?.ip()),
            socket,
        };
        let number = stranger.number;
        let mut state = self.state.lock();
        if state.threads >= MAX_THREADS {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        if state.waiting.len() >= MAX_STRANGERS
            && let Some(oldest) = state.oldest_of_most()
        {
            let gone = state.waiting.remove(oldest);
            drop(gone.socket.shutdown(Shutdown::Both));
            tracing::info!(network = %gone.network, "too many data connections at once, one was closed");
        }
        state.waiting.push(stranger);
        state.threads += 1;
        Ok(Admitted {
            strangers: Arc::clone(self),
            number,
        })
    }
}

impl State {
    fn oldest_of_most(&self) -> Option<usize> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for stranger in &self.waiting {
            *counts.entry(stranger.network).or_default() += 1;
        }
        let (most, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        self.waiting
            .iter()
            .position(|stranger| stranger.network == most)
    }

    fn remove(&mut self, number: u64) {
        self.waiting.retain(|stranger| stranger.number != number);
    }
}

impl Admitted {
    /// It has shown a key that is expected here, so it makes room for nobody.
    pub(crate) fn is_known(&self) {
        self.strangers.state.lock().remove(self.number);
    }

    /// Close it, unless it is known or has made room.
    pub(crate) fn close(&self) {
        let state = self.strangers.state.lock();
        let mut waiting = state.waiting.iter();
        if let Some(stranger) = waiting.find(|stranger| stranger.number == self.number) {
            drop(stranger.socket.shutdown(Shutdown::Both));
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut state = self.strangers.state.lock();
        state.remove(self.number);
        state.threads -= 1;
    }
}

/// What one subscriber has: an address, or the 2^64 of an IPv6 network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// A connection from this address, and its other end.
    fn connect(listener: &TcpListener, from: [u8; 4]) -> (TcpStream, TcpStream) {
        let socket = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        );
        let socket = socket.expect("a socket");
        let from = std::net::SocketAddr::from((from, 0));
        rustix::net::bind(&socket, &from).expect("bound");
        let to = listener.local_addr().expect("an address");
        rustix::net::connect(&socket, &to).expect("connected");
        (socket.into(), listener.accept().expect("accepted").0)
    }

    fn is_closed(socket: &mut TcpStream) -> bool {
        socket.set_nonblocking(true).expect("set");
        socket.read(&mut [0]).is_ok_and(|count| count == 0)
    }

    #[test]
    fn invariant_6_who_comes_takes_the_place_of_the_oldest_of_the_network_that_has_most() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let strangers = Arc::new(Strangers::default());
        let (mut friend, socket) = connect(&listener, [127, 0, 0, 2]);
        let friends = strangers.admit(&socket).expect("room");
        let many = (0..=MAX_STRANGERS).map(|_| connect(&listener, [127, 0, 0, 3]));
        let mut many: Vec<(TcpStream, TcpStream)> = many.collect();
        let admit = |(_, socket): &(TcpStream, TcpStream)| strangers.admit(socket).expect("room");
        let places: Vec<Admitted> = many.iter().map(admit).collect();
        let closed: Vec<bool> = many.iter_mut().map(|(near, _)| is_closed(near)).collect();
        assert_eq!(closed[..3], [true, true, false]);
        assert!(!is_closed(&mut friend));
        assert_eq!(strangers.state.lock().waiting.len(), MAX_STRANGERS);
        drop((friends, places));
        let state = strangers.state.lock();
        assert_eq!((state.waiting.len(), state.threads), (0, 0));
    }

    #[test]
    fn an_ipv6_network_counts_as_one() {
        let [one, other, else_where]: [IpAddr; 3] =
            ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"]
                .map(|text| text.parse().expect("an address"));
        assert_eq!(network(one), network(other));
        assert_ne!(network(one), network(else_where));
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().expect("an address");
        assert_eq!(network(mapped), IpAddr::from([192, 0, 2, 1]));
    }
}
