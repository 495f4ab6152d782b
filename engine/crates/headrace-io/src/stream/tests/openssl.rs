//! With OpenSSL at the other end: what we send and take is TLS, not only what rustls takes for it.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::pki_types::PrivatePkcs8KeyDer;

use super::*;

/// What stands before an Ed25519 key in PKCS #8: the first version of it, as OpenSSL does not read the second.
const PRIVATE_KEY: [u8; 16] = [
    0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
];
/// Records of ours under one key: `LENGTH` needs a dozen times that.
const RECORDS_PER_KEY: u64 = 16;

/// `openssl COMMAND`, with the key of the node that has this seed.
fn openssl(command: &str, seed: u8, folder: &Path) -> Command {
    let key = PrivatePkcs8KeyDer::from(SigningKey::from_seed(&[seed; 32]).pkcs8());
    let pair = KeyPair::from_pkcs8_der_and_sign_algo(&key, &PKCS_ED25519).expect("a key");
    let certificate = CertificateParams::default().self_signed(&pair);
    let key = STANDARD.encode([PRIVATE_KEY.as_slice(), &[seed; 32]].concat());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n");
    std::fs::write(folder.join("key"), pem).expect("written");
    let certificate = certificate.expect("a certificate").pem();
    std::fs::write(folder.join("certificate"), certificate).expect("written");
    let mut openssl = Command::new("openssl");
    openssl
        .args([command, "-quiet", "-tls1_3", "-alpn", "headrace-data/1"])
        .args(["-key", "key", "-cert", "certificate"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    openssl
}

/// Content goes both ways, ours under several keys, and each side's goodbye is heard.
fn exchange(mut ours: TlsStream, theirs: &mut Child) {
    change_keys_after(&mut ours, RECORDS_PER_KEY);
    let sent = content(LENGTH);
    let mut heard = vec![0; LENGTH];
    let (mut from, mut to) = (theirs.stdout.take(), theirs.stdin.take());
    thread::scope(|scope| {
        let hear = scope.spawn(|| from.as_mut().expect("a pipe").read_exact(&mut heard));
        ours.write_all(&[], &sent, &mut patient).expect("sent");
        hear.join().expect("no panic").expect("all of it");
    });
    assert!(heard == sent);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut to = to.take().expect("a pipe");
            to.write_all(&sent).expect("sent");
        });
        let mut received = vec![0; LENGTH];
        ours.read_exact(&mut received, &mut || Ok(()))
            .expect("content");
        assert!(received == sent);
    });
    ours.close().expect("closed");
    // It says goodbye as well; a connection that is cut off ends differently.
    let end = ours.read_exact(&mut [0], &mut || Ok(()));
    assert!(!end.expect_err("the end").to_string().contains("cut off"));
    theirs.wait().expect("it ends");
}

#[test]
fn openssl_understands_us_as_its_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let (listener, address) = listen();
    let mut client = openssl("s_client", 1, folder.path());
    client.args(["-noservername", "-connect", &address.to_string()]);
    let mut client = client.spawn().expect("openssl is installed");
    exchange(accept(&listener, &settings().1), &mut client);
}

#[test]
fn openssl_understands_us_as_its_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let free = listen();
    let address: SocketAddr = free.1;
    drop(free);
    let mut server = openssl("s_server", 2, folder.path());
    server.args(["-Verify", "1", "-naccept", "1", "-num_tickets", "0"]);
    server.args(["-accept", &address.to_string()]);
    let mut server = server.spawn().expect("openssl is installed");
    let deadline = Instant::now() + PATIENCE.connect;
    let stream = loop {
        // It does not say when it listens.
        match TlsStream::dial(address, &settings().0, ALPN_DATA, PATIENCE, &mut || Ok(())) {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        thread::yield_now();
    };
    exchange(stream, &mut server);
}
