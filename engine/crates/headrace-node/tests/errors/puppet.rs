//! A node that speaks the real protocol over real TLS, and says and sends whatever a test wants.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use headrace_core::batch::BatchFile;
use headrace_core::code::{Code, Failure};
use headrace_core::codec::to_usize;
use headrace_core::entry::{Entry, Kind};
use headrace_core::integrity::{BLOCK_BYTES, PieceHash, piece_hash};
use headrace_core::manifest::Item;
use headrace_core::message::{Hello, Join, Message, Order, Role, VERSIONS};
use headrace_core::name::RelPath;
use headrace_core::sealed::PublicKey;
use headrace_core::ticket::Ticket;
use headrace_core::version::Version;
use headrace_core::wire::{FrameType, HEADER_BYTES, Header, Peeked};
use headrace_io::stream::{Patience, Records, TlsStream};
use headrace_io::tls::{ALPN_DATA, Identity, client_config};
use headrace_node::session::{AttemptEnd, AttemptHandle, start};

use crate::session_support::{Dialler, Pair, node_key};

/// Longest wait for anything that must come; what comes, comes at once.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a unit in these tests: the victim's, whichever end it is.
pub(crate) const UNIT_BYTES: u64 = 1 << 20;
/// Flags of a block, as the protocol has them.
pub(crate) const FLAG_HOLE: u8 = 1;
pub(crate) const FLAG_SPARSE: u8 = 2;

/// A connection to the victim, as the node with the key of `seed`.
pub(crate) fn dial(seed: u8, address: SocketAddr, victim: PublicKey) -> TlsStream {
    let identity = Identity::new(&node_key(seed)).expect("an identity");
    let config = client_config(&identity, victim, ALPN_DATA).expect("a configuration");
    let patience = Patience {
        connect: PATIENCE,
        stalled_after: PATIENCE,
        unsent_bytes: 2 << 20,
        records: Records::Own,
    };
    TlsStream::dial(address, &config, ALPN_DATA, patience, &mut || Ok(())).expect("a connection")
}

/// The other end of an attempt, in the hands of a test.
pub(crate) struct Puppet {
    seed: u8,
    address: SocketAddr,
    victim: PublicKey,
    control: TlsStream,
    /// What the victim said first.
    pub(crate) theirs: Hello,
}

impl Puppet {
    /// The source of the attempt whose destination is the pair's, and that destination.
    pub(crate) fn source(pair: &mut Pair) -> (Self, AttemptHandle) {
        pair.dialler = Dialler::Source;
        pair.tuning.unit_bytes = UNIT_BYTES;
        let node = &pair.destination.plane;
        let handle = start(node, pair.destination_spec()).expect("the destination starts");
        let address = node.address().expect("it listens");
        let hello = hello(&pair.ticket, Role::Source);
        (Self::begin(1, address, node.key(), hello), handle)
    }

    /// The destination of the attempt whose source is the pair's, and that source.
    pub(crate) fn destination(pair: &mut Pair) -> (Self, AttemptHandle) {
        pair.dialler = Dialler::Destination;
        let node = &pair.source.plane;
        let handle = start(node, pair.source_spec()).expect("the source starts");
        let address = node.address().expect("it listens");
        let hello = hello(&pair.ticket, Role::Destination);
        (Self::begin(2, address, node.key(), hello), handle)
    }

    fn begin(seed: u8, address: SocketAddr, victim: PublicKey, ours: Hello) -> Self {
        let mut control = dial(seed, address, victim);
        send(&mut control, &Message::Hello(ours));
        let theirs = match hear(&mut control) {
            Some(Message::Hello(theirs)) => theirs,
            other => panic!("{other:?} instead of a hello"),
        };
        Self {
            seed,
            address,
            victim,
            control,
            theirs,
        }
    }

    pub(crate) fn say(&mut self, message: &Message) {
        send(&mut self.control, message);
    }

    /// Any bytes on the message connection.
    pub(crate) fn say_bytes(&mut self, bytes: &[u8]) {
        self.control
            .write_all(bytes, &[], &mut patient)
            .expect("written");
    }

    /// The next message; `None` when the victim closed the connection.
    pub(crate) fn hear(&mut self) -> Option<Message> {
        hear(&mut self.control)
    }

    /// The next message that `wanted` takes.
    pub(crate) fn hear_until<T>(&mut self, wanted: impl Fn(&Message) -> Option<T>) -> T {
        loop {
            let message = self.hear().expect("a message");
            if let Message::Bye(failure) = &message {
                panic!("the victim ended the session: {failure:?}");
            }
            if let Some(found) = wanted(&message) {
                return found;
            }
        }
    }

    /// Why the victim ended the session. It need not wait for our word.
    pub(crate) fn bye(&mut self) -> Failure {
        loop {
            match self.hear() {
                Some(Message::Bye(failure)) => {
                    drop(self.control.write_all(
                        &Message::Bye(failure.clone()).encode(),
                        &[],
                        &mut patient,
                    ));
                    return failure;
                }
                Some(_) => {}
                None => panic!("the victim closed the connection without a word"),
            }
        }
    }

    /// The token with which `connection` may join the session as this stream.
    pub(crate) fn token(&self, connection: &TlsStream, index: u16) -> [u8; 32] {
        let secret = self.control.exporter(b"EXPORTER-headrace-session");
        let own = connection.exporter(b"EXPORTER-headrace-join");
        let mut hasher = blake3::Hasher::new_keyed(&secret.expect("a secret"));
        hasher.update(&self.theirs.session);
        hasher.update(&index.to_le_bytes());
        hasher.update(&own.expect("a secret"));
        *hasher.finalize().as_bytes()
    }

    /// The join of this stream over `connection`.
    pub(crate) fn join(&self, connection: &TlsStream, index: u16) -> Join {
        Join {
            transfer: self.theirs.transfer.clone(),
            session: self.theirs.session,
            index,
            token: self.token(connection, index),
        }
    }

    /// A connection to the victim by the node with this key, not yet joined.
    pub(crate) fn connection_of(&self, seed: u8) -> TlsStream {
        dial(seed, self.address, self.victim)
    }

    /// A data connection.
    pub(crate) fn stream(&self, index: u16) -> DataStream {
        let mut stream = self.connection_of(self.seed);
        let join = self.join(&stream, index);
        send(&mut stream, &Message::Join(join));
        DataStream { stream }
    }
}

/// The hello of an honest node.
pub(crate) fn hello(ticket: &Ticket, role: Role) -> Hello {
    Hello {
        version_min: VERSIONS.0,
        version_max: VERSIONS.1,
        features: 0,
        role,
        transfer: ticket.transfer.clone(),
        attempt: ticket.attempt,
        plan: ticket.plan_digest,
        shard: ticket.shard,
        order: Order::Components,
        session: [0; 16],
        unit_bytes: UNIT_BYTES,
        window: 1024,
        streams: 0,
    }
}

pub(crate) fn send(stream: &mut TlsStream, message: &Message) {
    stream
        .write_all(&message.encode(), &[], &mut patient)
        .expect("written");
}

/// The next message that is no sign of life; `None` at the end of the connection.
pub(crate) fn hear(stream: &mut TlsStream) -> Option<Message> {
    loop {
        let mut header = [0; HEADER_BYTES];
        read(stream, &mut header)?;
        let Ok(Peeked::Known(header)) = Header::decode(&header) else {
            panic!("a frame that we do not know");
        };
        let mut payload = vec![0; to_usize(header.length.into())];
        read(stream, &mut payload)?;
        let message = Message::decode(&header, &payload).expect("a message");
        if message != Message::Alive {
            return Some(message);
        }
    }
}

fn read(stream: &mut TlsStream, out: &mut [u8]) -> Option<()> {
    let deadline = Instant::now() + PATIENCE;
    let outcome = stream.read_exact(out, &mut || {
        if Instant::now() < deadline {
            Ok(())
        } else {
            Err(ErrorKind::TimedOut.into())
        }
    });
    match outcome {
        Ok(()) => Some(()),
        Err(error) if error.kind() == ErrorKind::TimedOut => panic!("nothing came"),
        Err(_) => None,
    }
}

/// Whether the victim closes this connection without a word.
pub(crate) fn is_closed(stream: &mut TlsStream) -> bool {
    hear(stream).is_none()
}

/// A data connection of a puppet that is a source.
pub(crate) struct DataStream {
    pub(crate) stream: TlsStream,
}

impl DataStream {
    /// A block as it stands here, whether or not it is one. Writing to a victim that has closed the connection is no failure of a test.
    pub(crate) fn block(&mut self, header: Header, hash: PieceHash, payload: &[u8]) {
        let length = u32::try_from(hash.len() + payload.len()).expect("short");
        let mut head = Header { length, ..header }.encode().to_vec();
        head.extend_from_slice(&hash);
        drop(self.stream.write_all(&head, payload, &mut patient));
    }

    /// The next frame that the victim sends.
    pub(crate) fn frame(&mut self) -> (Header, Vec<u8>) {
        let mut header = [0; HEADER_BYTES];
        read(&mut self.stream, &mut header).expect("a frame");
        let Ok(Peeked::Known(header)) = Header::decode(&header) else {
            panic!("a frame that we do not know");
        };
        let mut payload = vec![0; to_usize(header.length.into())];
        read(&mut self.stream, &mut payload).expect("a payload");
        (header, payload)
    }

    /// Any frame.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        drop(self.stream.write_all(bytes, &[], &mut patient));
    }

    /// The blocks of one unit of file `file`, the bytes of which `alter` may change after they were hashed.
    pub(crate) fn unit(
        &mut self,
        file: u64,
        content: &[u8],
        unit: u64,
        alter: impl Fn(u64, &mut Vec<u8>),
    ) {
        let size = content.len() as u64;
        let end = size.min((unit + 1) * UNIT_BYTES);
        for offset in (unit * UNIT_BYTES..end).step_by(to_usize(BLOCK_BYTES)) {
            let block = &content[to_usize(offset)..to_usize(end.min(offset + BLOCK_BYTES))];
            let hash = piece_hash(size, offset, block);
            let mut sent = block.to_vec();
            alter(offset, &mut sent);
            let header = Header {
                file,
                offset,
                ..Header::new(FrameType::Block)
            };
            self.block(header, hash, &sent);
        }
    }

    /// A batch of these files.
    pub(crate) fn batch(&mut self, files: &[BatchFile<'_>]) {
        let mut payload = Vec::new();
        for file in files {
            file.put(&mut payload);
        }
        let length = u32::try_from(payload.len()).expect("short");
        let header = Header {
            length,
            ..Header::new(FrameType::Batch)
        };
        drop(
            self.stream
                .write_all(&header.encode(), &payload, &mut patient),
        );
    }
}

/// A file of a batch with the hash of its bytes.
pub(crate) fn small(file: u64, bytes: &[u8]) -> BatchFile<'_> {
    BatchFile {
        file,
        generation: 0,
        sparse: headrace_core::batch::Sparse::No,
        hash: piece_hash(bytes.len() as u64, 0, bytes),
        bytes,
    }
}

/// An entry as a source announces it.
pub(crate) fn announced(name: &str, kind: Kind, size: u64) -> Item {
    Item::Entry(Entry {
        path: RelPath::from_bytes(name.as_bytes()).expect("a path"),
        kind,
        size,
        mtime_ns: 1_000_000_000,
        version: Version::new(b"1").expect("short"),
        mode: 0o644,
        target: None,
    })
}

pub(crate) fn file(name: &str, size: u64) -> Item {
    announced(name, Kind::File, size)
}

/// The code an attempt ended with.
pub(crate) fn code(end: &AttemptEnd) -> Option<Code> {
    end.failure.as_ref().map(|failure| failure.code)
}

/// For who waits as long as it takes.
#[expect(clippy::unnecessary_wraps, reason = "it is what a write asks")]
fn patient() -> std::io::Result<()> {
    Ok(())
}
