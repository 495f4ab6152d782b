//! Encrypted connections over loopback, also against rustls' own buffered connections at the other end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use headrace_core::sealed::SigningKey;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{
    ClientConfig, ClientConnection, ServerConfig, ServerConnection, Stream, SupportedCipherSuite,
};

use super::halves::Writing;
use super::{ConnectError, Patience, Records, TlsStream};
use crate::tls::{
    ALPN_DATA, Identity, client_config, client_config_with, peer_name, server_config,
};

const PATIENCE: Patience = Patience {
    connect: Duration::from_mins(1),
    stalled_after: Duration::from_mins(1),
    unsent_bytes: 2 << 20,
    records: Records::Own,
};
/// The same, with records of rustls.
const BUFFERED: Patience = Patience {
    records: Records::Rustls,
    ..PATIENCE
};
/// For who waits as long as it takes.
#[expect(clippy::unnecessary_wraps, reason = "it is what a write asks")]
fn patient() -> io::Result<()> {
    Ok(())
}
const LABEL: &[u8] = b"EXPORTER-a-test";
/// Several buffers full, and not a multiple of a record.
const LENGTH: usize = 3_000_017;

fn identity(seed: u8) -> Identity {
    Identity::new(&SigningKey::from_seed(&[seed; 32])).expect("an identity")
}

fn settings() -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let (here, there) = (identity(1), identity(2));
    let client = client_config(&here, there.public_key(), ALPN_DATA).expect("settings");
    let key = here.public_key();
    let allow = Arc::new(move |shown: &_| *shown == key);
    let server = server_config(&there, allow, ALPN_DATA).expect("settings");
    (client, server)
}

/// Settings of a client that offers this one cipher suite.
fn offering(suite: SupportedCipherSuite) -> Arc<ClientConfig> {
    let provider = CryptoProvider {
        cipher_suites: vec![suite],
        ..aws_lc_rs::default_provider()
    };
    let there = identity(2).public_key();
    client_config_with(provider.into(), &identity(1), there, ALPN_DATA).expect("settings")
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn content(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| u8::try_from((at * 7 + at / 251) % 256).expect("a byte"))
        .collect()
}

fn dial(address: SocketAddr, config: &ClientConfig) -> TlsStream {
    TlsStream::dial(address, config, ALPN_DATA, PATIENCE, &mut || Ok(())).expect("a connection")
}

fn accept(listener: &TcpListener, config: &ServerConfig) -> TlsStream {
    let (socket, _) = listener.accept().expect("a caller");
    TlsStream::accept(socket, config, ALPN_DATA, PATIENCE).expect("a connection")
}

/// Both ends of one connection.
fn pair(client: Arc<ClientConfig>) -> (TlsStream, TlsStream) {
    let (_, server) = settings();
    let (listener, address) = listen();
    thread::scope(|scope| {
        let dialled = scope.spawn(move || dial(address, &client));
        let accepted = accept(&listener, &server);
        (dialled.join().expect("a connection"), accepted)
    })
}

/// Our server, and at the other end a buffered client with which `act` does something.
fn with_buffered_client(
    client: Arc<ClientConfig>,
    act: impl FnOnce(&mut ClientConnection, &mut TcpStream) + Send,
    check: impl FnOnce(TlsStream),
) {
    let (_, server) = settings();
    let (listener, address) = listen();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut tls = ClientConnection::new(client, peer_name()).expect("a client");
            let mut socket = TcpStream::connect(address).expect("a socket");
            while tls.is_handshaking() || tls.wants_write() {
                tls.complete_io(&mut socket).expect("a handshake");
            }
            act(&mut tls, &mut socket);
        });
        check(accept(&listener, &server));
    });
}

/// Our client, and at the other end a buffered server with which `act` does something.
fn with_buffered_server(
    client: &ClientConfig,
    act: impl FnOnce(&mut ServerConnection, &mut TcpStream) + Send,
    check: impl FnOnce(TlsStream),
) {
    let (_, server) = settings();
    let (listener, address) = listen();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut tls = ServerConnection::new(server).expect("a server");
            let (mut socket, _) = listener.accept().expect("a caller");
            while tls.is_handshaking() || tls.wants_write() {
                tls.complete_io(&mut socket).expect("a handshake");
            }
            act(&mut tls, &mut socket);
        });
        check(dial(address, client));
    });
}

fn exported<T>(tls: &rustls::ConnectionCommon<T>) -> [u8; 32] {
    tls.export_keying_material([0; 32], LABEL, None)
        .expect("a key")
}

#[test]
fn both_roles_export_what_a_buffered_connection_exports_with_either_hash() {
    let (sender, receiver) = mpsc::channel();
    for suite in [
        aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256,
        aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384,
    ] {
        with_buffered_client(
            offering(suite),
            |tls, _| sender.send(exported(tls)).expect("a listener"),
            |stream| {
                let ours = stream.exporter(LABEL).expect("a key");
                assert_eq!(ours, receiver.recv().expect("a key"));
                assert_ne!(ours, stream.exporter(b"another").expect("a key"));
                assert_eq!(Some(stream.cipher()), suite.suite().as_str());
            },
        );
        with_buffered_server(
            &offering(suite),
            |tls, _| sender.send(exported(tls)).expect("a listener"),
            |stream| {
                let ours = stream.exporter(LABEL).expect("a key");
                assert_eq!(ours, receiver.recv().expect("a key"));
            },
        );
    }
}

/// Read what `content` says in reads of many sizes, then the end.
#[test]
fn keys_are_agreed_on_in_a_way_that_holds_against_later_computers_too() {
    let group = |stream: &TlsStream| {
        let tls = stream.tls.lock();
        let group = tls.negotiated_key_exchange_group();
        group.expect("a handshake").name()
    };
    let (dialled, accepted) = pair(settings().0);
    assert_eq!(group(&dialled), rustls::NamedGroup::X25519MLKEM768);
    assert_eq!(group(&accepted), rustls::NamedGroup::X25519MLKEM768);
    // A peer of before knows the other one only.
    let provider = CryptoProvider {
        kx_groups: vec![aws_lc_rs::kx_group::X25519],
        ..aws_lc_rs::default_provider()
    };
    let there = identity(2).public_key();
    let before = client_config_with(provider.into(), &identity(1), there, ALPN_DATA);
    let (dialled, _) = pair(before.expect("settings"));
    assert_eq!(group(&dialled), rustls::NamedGroup::X25519);
}

fn read_all(stream: &mut TlsStream, expected: &[u8]) {
    let mut received = vec![0; expected.len()];
    let (mut at, mut size) = (0, 1);
    while at < received.len() {
        let end = (at + size).min(received.len());
        stream
            .read_exact(&mut received[at..end], &mut || Ok(()))
            .expect("content");
        (at, size) = (end, size * 3 % 100_003 + 1);
    }
    assert!(received == expected);
    let end = stream
        .read_exact(&mut [0], &mut || Ok(()))
        .expect_err("the end");
    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn content_of_many_records_arrives_whole_however_it_is_read() {
    let (mut from, mut to) = pair(settings().0);
    let sent = content(LENGTH);
    thread::scope(|scope| {
        scope.spawn(|| {
            from.write_all(&sent[..100_000], &sent[100_000..], &mut patient)
                .expect("sent");
            from.close().expect("closed");
        });
        read_all(&mut to, &sent);
    });
}

/// Sixteen records or so, instead of many millions.
fn change_keys_after(stream: &mut TlsStream, records: u64) {
    let Writing::Own(sealer) = &mut stream.writing else {
        panic!("records of rustls");
    };
    sealer.records_per_key = records;
}

#[test]
fn keys_are_changed_before_they_are_used_up() {
    let (mut from, mut to) = pair(settings().0);
    // Sixteen records instead of many millions; `LENGTH` needs a dozen times that.
    change_keys_after(&mut from, 16);
    let sent = content(LENGTH);
    thread::scope(|scope| {
        scope.spawn(|| {
            from.write_all(&[], &sent, &mut patient).expect("sent");
            from.close().expect("closed");
        });
        read_all(&mut to, &sent);
    });
}

#[test]
fn the_other_side_may_change_keys_in_mid_stream() {
    let sent = content(LENGTH);
    with_buffered_server(
        &settings().0,
        |tls, socket| {
            for part in sent.chunks(300_000) {
                tls.refresh_traffic_keys().expect("new keys");
                Stream::new(tls, socket).write_all(part).expect("sent");
            }
            // Our answers to that come with new keys too, and what we say is still understood.
            let mut echo = vec![0; 10];
            Stream::new(tls, socket)
                .read_exact(&mut echo)
                .expect("an answer");
            assert_eq!(echo, sent[..10]);
            tls.send_close_notify();
            Stream::new(tls, socket).flush().expect("sent");
        },
        |mut stream| {
            let mut received = vec![0; LENGTH];
            stream
                .read_exact(&mut received, &mut || Ok(()))
                .expect("content");
            assert!(received == sent);
            stream
                .write_all(&sent[..3], &sent[3..10], &mut patient)
                .expect("sent");
            read_all(&mut stream, &[]);
        },
    );
}

#[test]
fn the_halves_of_a_connection_survive_new_keys_from_the_other_side() {
    let sent = content(LENGTH);
    with_buffered_client(
        settings().0,
        |tls, socket| {
            for part in sent.chunks(300_000) {
                tls.refresh_traffic_keys().expect("new keys");
                Stream::new(tls, socket).write_all(part).expect("sent");
                let mut answer = [0; 5];
                Stream::new(tls, socket)
                    .read_exact(&mut answer)
                    .expect("an answer");
                assert_eq!(&answer, b"taken");
            }
        },
        |stream| {
            let (mut reader, writer) = stream.split().expect("halves");
            let mut received = Vec::new();
            for part in sent.chunks(300_000) {
                let mut bytes = vec![0; part.len()];
                reader
                    .read_exact(&mut bytes, &mut || Ok(()))
                    .expect("content");
                received.append(&mut bytes);
                writer.write_all(b"taken", &mut patient).expect("sent");
            }
            assert!(received == sent);
        },
    );
}

#[test]
fn a_goodbye_and_a_cut_both_end_a_read_and_the_cut_says_so() {
    for cut in [false, true] {
        with_buffered_client(
            settings().0,
            |tls, socket| {
                Stream::new(tls, socket).write_all(b"last").expect("sent");
                if cut {
                    socket.shutdown(Shutdown::Write).expect("closed");
                } else {
                    tls.send_close_notify();
                    Stream::new(tls, socket).flush().expect("sent");
                }
            },
            |mut stream| {
                let mut last = [0; 4];
                stream
                    .read_exact(&mut last, &mut || Ok(()))
                    .expect("content");
                assert_eq!(&last, b"last");
                for _ in 0..2 {
                    let end = stream
                        .read_exact(&mut [0], &mut || Ok(()))
                        .expect_err("the end");
                    assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
                    assert_eq!(end.to_string().contains("cut off"), cut);
                }
            },
        );
    }
}

#[test]
fn our_goodbye_is_heard_as_one_by_a_buffered_connection() {
    with_buffered_server(
        &settings().0,
        |tls, socket| {
            let mut heard = Vec::new();
            // A connection that is cut off would be an error here.
            Stream::new(tls, socket)
                .read_to_end(&mut heard)
                .expect("a clean end");
            assert_eq!(heard, b"last");
        },
        |mut stream| {
            stream.write_all(b"la", b"st", &mut patient).expect("sent");
            stream.close().expect("closed");
        },
    );
}

#[test]
fn ciphertext_that_was_tampered_with_is_refused_and_stays_refused() {
    with_buffered_client(
        settings().0,
        |tls, socket| {
            let mut sealed = Vec::new();
            tls.writer().write_all(b"content").expect("memory");
            tls.write_tls(&mut sealed).expect("memory");
            *sealed.last_mut().expect("a tag") ^= 1;
            socket.write_all(&sealed).expect("sent");
        },
        |mut stream| {
            for _ in 0..2 {
                let error = stream
                    .read_exact(&mut [0; 7], &mut || Ok(()))
                    .expect_err("refused");
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            }
            assert!(stream.write_all(b"more", b"", &mut patient).is_err());
        },
    );
}

#[test]
fn a_server_with_another_key_is_told_why_it_is_left() {
    let client = client_config(&identity(1), identity(3).public_key(), ALPN_DATA);
    let client = client.expect("settings");
    let (_, server) = settings();
    let (listener, address) = listen();
    thread::scope(|scope| {
        let dialled =
            scope.spawn(|| TlsStream::dial(address, &client, ALPN_DATA, PATIENCE, &mut || Ok(())));
        let (socket, _) = listener.accept().expect("a caller");
        let told = TlsStream::accept(socket, &server, ALPN_DATA, PATIENCE).expect_err("left");
        assert!(matches!(
            told,
            ConnectError::Tls(rustls::Error::AlertReceived(_))
        ));
        let refused = dialled.join().expect("no panic").expect_err("refused");
        assert!(matches!(refused, ConnectError::WrongKey));
    });
}

#[test]
fn nobody_waits_for_a_handshake_that_never_comes() {
    let (_, server) = settings();
    let (listener, address) = listen();
    let silent = TcpStream::connect(address).expect("a socket");
    let (socket, _) = listener.accept().expect("a caller");
    let hurried = Patience {
        connect: Duration::from_millis(50),
        ..PATIENCE
    };
    let error = TlsStream::accept(socket, &server, ALPN_DATA, hurried).expect_err("too late");
    assert!(matches!(error, ConnectError::Io(_)));
    drop(silent);
}

#[test]
fn who_dials_is_asked_while_nobody_answers() {
    let (client, _) = settings();
    let asked_once = |address| {
        let mut asked = 0;
        let stopped = TlsStream::dial(address, &client, ALPN_DATA, PATIENCE, &mut || {
            asked += 1;
            Err(io::ErrorKind::Interrupted.into())
        });
        let Err(ConnectError::Io(stopped)) = stopped else {
            panic!("stopped: {stopped:?}")
        };
        assert_eq!((stopped.kind(), asked), (io::ErrorKind::Interrupted, 1));
    };
    // The kernel takes the connection, and nobody shakes hands on it.
    let (listener, address) = listen();
    asked_once(address);
    // It takes no more of them, and drops what comes, as a host that is away.
    rustix::net::listen(&listener, 0).expect("a shorter queue");
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let in_queue: Vec<_> = (0..8)
        .map(|_| {
            let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
            let socket = socket.expect("a socket");
            let _ = rustix::net::connect(&socket, &address);
            socket
        })
        .collect();
    asked_once(address);
    drop(in_queue);
}

#[test]
fn the_kernel_holds_little_that_is_not_sent_yet() {
    let bound = Patience {
        unsent_bytes: 64 << 10,
        ..PATIENCE
    };
    let (client, server) = settings();
    let (listener, address) = listen();
    let (mut sender, _receiver) = thread::scope(|scope| {
        let dialled =
            scope.spawn(|| TlsStream::dial(address, &client, ALPN_DATA, bound, &mut || Ok(())));
        let (socket, _) = listener.accept().expect("a caller");
        let accepted = TlsStream::accept(socket, &server, ALPN_DATA, PATIENCE);
        (
            dialled.join().expect("no panic").expect("dialled"),
            accepted.expect("accepted"),
        )
    });
    // The receiver reads nothing. Without the bound the kernel takes megabytes, on tuned hosts hundreds of them.
    let mut taken = 0;
    let full = || Err(io::ErrorKind::TimedOut.into());
    while taken < (16 << 20) {
        match sender.write_all(&[0; 16 << 10], &[], &mut { full }) {
            Ok(()) => taken += 16 << 10,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::TimedOut);
                break;
            }
        }
    }
    assert!(taken < 1 << 20, "{taken} bytes");
    // Half a record may be on its way, so nothing may follow it.
    let late = sender.write_all(b"more", b"", &mut patient);
    assert_eq!(
        late.expect_err("refused").kind(),
        io::ErrorKind::NotConnected
    );
}

#[test]
fn no_nonce_is_used_twice_whatever_the_settings_say_of_session_tickets() {
    let (client, server) = settings();
    let mut client = ClientConfig::clone(&client);
    client.resumption = Resumption::in_memory_sessions(1);
    let mut server = ServerConfig::clone(&server);
    server.send_tls13_tickets = 2;
    let (listener, address) = listen();
    thread::scope(|scope| {
        scope.spawn(move || {
            let tls = ClientConnection::new(client.into(), peer_name());
            let mut tls = tls.expect("a client");
            let mut socket = TcpStream::connect(address).expect("a socket");
            let mut bytes = [0; 5];
            let read = Stream::new(&mut tls, &mut socket).read_exact(&mut bytes);
            read.expect("readable");
            assert_eq!(&bytes, b"hello");
        });
        let mut stream = accept(&listener, &server);
        let sent = stream.write_all(b"hello", &[], &mut patient);
        sent.expect("sent");
    });
}

/// Both ends of one connection, each with its own records.
fn pair_of(dialling: Patience, accepting: Patience) -> (TlsStream, TlsStream) {
    let (client, server) = settings();
    let (listener, address) = listen();
    thread::scope(|scope| {
        let dialled =
            scope.spawn(|| TlsStream::dial(address, &client, ALPN_DATA, dialling, &mut || Ok(())));
        let (socket, _) = listener.accept().expect("a caller");
        let accepted = TlsStream::accept(socket, &server, ALPN_DATA, accepting);
        let dialled = dialled.join().expect("no panic");
        (dialled.expect("dialled"), accepted.expect("accepted"))
    })
}

#[test]
fn records_of_rustls_and_ours_are_understood_at_either_end() {
    let sent = content(LENGTH);
    for (dialling, accepting) in [
        (BUFFERED, BUFFERED),
        (BUFFERED, PATIENCE),
        (PATIENCE, BUFFERED),
    ] {
        let (mut near, far) = pair_of(dialling, accepting);
        assert_eq!(
            near.exporter(LABEL).expect("a key"),
            far.exporter(LABEL).expect("a key")
        );
        assert_eq!(near.cipher(), far.cipher());
        let (mut reader, writer) = far.split().expect("halves");
        thread::scope(|scope| {
            scope.spawn(|| {
                // Both halves work at the same time.
                for part in sent.chunks(100_000) {
                    writer.write_all(part, &mut patient).expect("sent");
                }
            });
            scope.spawn(|| {
                let mut received = vec![0; LENGTH];
                for part in received.chunks_mut(77_777) {
                    reader.read_exact(part, &mut patient).expect("content");
                }
                assert!(received == sent);
                let end = reader.read_exact(&mut [0], &mut patient);
                let end = end.expect_err("the end");
                assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
                assert!(!end.to_string().contains("cut off"), "{end}");
            });
            near.write_all(&sent[..1000], &sent[1000..], &mut patient)
                .expect("sent");
            let mut received = vec![0; LENGTH];
            near.read_exact(&mut received, &mut patient)
                .expect("content");
            assert!(received == sent);
            near.close().expect("closed");
            assert!(near.write_all(b"more", b"", &mut patient).is_err());
        });
    }
}

#[test]
fn with_records_of_rustls_a_cut_and_what_was_altered_are_errors_too() {
    for alters in [false, true] {
        let (client, server) = settings();
        let (listener, address) = listen();
        thread::scope(|scope| {
            scope.spawn(move || {
                let tls = ClientConnection::new(client, peer_name());
                let mut tls = tls.expect("a client");
                let mut socket = TcpStream::connect(address).expect("a socket");
                while tls.is_handshaking() || tls.wants_write() {
                    tls.complete_io(&mut socket).expect("a handshake");
                }
                let mut sealed = Vec::new();
                for part in [b"first", b"again"] {
                    tls.writer().write_all(part).expect("memory");
                    tls.write_tls(&mut sealed).expect("memory");
                }
                if alters {
                    *sealed.last_mut().expect("a tag") ^= 1;
                }
                socket.write_all(&sealed).expect("sent");
                if alters {
                    let told = tls.complete_io(&mut socket).expect_err("an alert");
                    assert!(told.to_string().contains("BadRecordMac"), "{told}");
                } else {
                    socket.shutdown(Shutdown::Write).expect("closed");
                }
            });
            let (socket, _) = listener.accept().expect("a caller");
            let accepted = TlsStream::accept(socket, &server, ALPN_DATA, BUFFERED);
            let mut stream = accepted.expect("accepted");
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes, &mut patient).expect("good");
            assert_eq!(&bytes, b"first");
            if !alters {
                stream.read_exact(&mut bytes, &mut patient).expect("good");
            }
            for _ in 0..2 {
                let error = stream.read_exact(&mut bytes, &mut patient);
                let (expected, what) = if alters {
                    (io::ErrorKind::InvalidData, "decrypt")
                } else {
                    (io::ErrorKind::UnexpectedEof, "cut off")
                };
                let error = error.expect_err("the end");
                assert_eq!(error.kind(), expected);
                assert!(error.to_string().contains(what), "{error}");
            }
        });
    }
}

mod openssl;
