//! The key schedule of an established TLS 1.3 connection (RFC 8446, section 7): from the traffic secrets that rustls gives to a connection's
//! key log to the keys of its records.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::hkdf;
use parking_lot::Mutex;
use rustls::{CipherSuite, KeyLog};
use zeroize::Zeroizing;

/// Bytes of a record's nonce.
pub(crate) const NONCE_BYTES: usize = 12;
/// Bytes of the tag that ends a record.
pub(crate) const TAG_BYTES: usize = 16;

/// Hears the first traffic secret of each side. To be set as the key log of one connection's settings.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    client: Mutex<Option<Secret>>,
    server: Mutex<Option<Secret>>,
}

impl Secrets {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The secrets of client and server; `None` before the end of the handshake, and after they were taken.
    pub(crate) fn take(&self) -> Option<(Secret, Secret)> {
        Some((self.client.lock().take()?, self.server.lock().take()?))
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        let place = match label {
            "CLIENT_TRAFFIC_SECRET_0" => &self.client,
            "SERVER_TRAFFIC_SECRET_0" => &self.server,
            _ => return,
        };
        // The hashes of TLS 1.3 are these two, and a secret is as long as its hash.
        let hash = match secret.len() {
            32 => hkdf::HKDF_SHA256,
            48 => hkdf::HKDF_SHA384,
            _ => return,
        };
        *place.lock() = Some(Secret {
            hash,
            secret: hkdf::Prk::new_less_safe(hash, secret),
        });
    }
}

/// A traffic secret of one direction. It shows in no output and is wiped when dropped.
pub(crate) struct Secret {
    hash: hkdf::Algorithm,
    secret: hkdf::Prk,
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Secret {
    /// The secret after a key update (section 7.2).
    fn next(&self) -> Option<Self> {
        let secret = self.expand(b"traffic upd", self.hash, |okm| Some(okm.into()))?;
        Some(Self {
            hash: self.hash,
            secret,
        })
    }

    fn fill(&self, label: &[u8], out: &mut [u8]) -> Option<()> {
        self.expand(label, Length(out.len()), |okm| okm.fill(out).ok())
    }

    /// HKDF-Expand-Label with an empty context (section 7.1), handed to `take`.
    fn expand<L: hkdf::KeyType, T>(
        &self,
        label: &[u8],
        length: L,
        take: impl FnOnce(hkdf::Okm<'_, L>) -> Option<T>,
    ) -> Option<T> {
        const PREFIX: &[u8] = b"tls13 ";
        let bytes = u16::try_from(length.len()).ok()?.to_be_bytes();
        let of_label = [u8::try_from(PREFIX.len() + label.len()).ok()?];
        let info = [&bytes[..], &of_label, PREFIX, label, &[0]];
        take(self.secret.expand(&info, length).ok()?)
    }
}

/// A number of bytes to be derived.
struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// What protects the records of one direction, one after the other. Secrets, keys and nonces of ours are wiped when they are dropped; what a cipher
/// expands a key to is wiped by aws-lc, and not by ring.
pub(crate) struct Keys {
    suite: CipherSuite,
    secret: Secret,
    aead: Aead,
    iv: Zeroizing<[u8; NONCE_BYTES]>,
    /// Number of the next record under these keys.
    sequence: u64,
}

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Keys")
            .field("suite", &self.suite)
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

impl Keys {
    /// Keys for this suite; `None` for one that is not of TLS 1.3.
    pub(crate) fn new(suite: CipherSuite, secret: Secret) -> Option<Self> {
        let mut iv = Zeroizing::new([0; NONCE_BYTES]);
        secret.fill(b"iv", &mut *iv)?;
        Some(Self {
            suite,
            aead: Aead::new(suite, &secret)?,
            secret,
            iv,
            sequence: 0,
        })
    }

    /// Go on with the next secret (section 7.2).
    pub(crate) fn update(&mut self) -> Option<()> {
        *self = Self::new(self.suite, self.secret.next()?)?;
        Some(())
    }

    /// How many records these keys have protected.
    pub(crate) fn used(&self) -> u64 {
        self.sequence
    }

    /// Encrypt in place and answer the tag.
    pub(crate) fn seal(&mut self, aad: [u8; 5], bytes: &mut [u8]) -> Option<[u8; TAG_BYTES]> {
        let nonce = self.nonce()?;
        self.aead.seal(nonce, aad, bytes)
    }

    /// Decrypt what is at `bytes[from..]`, tag included, to the start of `bytes`; answers the number of bytes of plaintext, or `None` when they
    /// were altered.
    pub(crate) fn open(&mut self, aad: [u8; 5], bytes: &mut [u8], from: usize) -> Option<usize> {
        let nonce = self.nonce()?;
        self.aead.open(nonce, aad, bytes, from)
    }

    /// The nonce of the next record (section 5.3).
    fn nonce(&mut self) -> Option<[u8; NONCE_BYTES]> {
        let mut nonce = *self.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= number;
        }
        self.sequence = self.sequence.checked_add(1)?;
        Some(nonce)
    }
}

/// The cipher, from the library that is faster on this processor.
///
/// Both have code for wide AES instructions, but aws-lc's also needs AVX-512. Without that, ring takes 0.16 s a GiB where aws-lc takes 0.30 s
/// (AMD Zen 3, records of 16 KiB, AES-256-GCM).
#[expect(
    clippy::large_enum_variant,
    reason = "two for each connection, and never moved"
)]
enum Aead {
    Ring(ring::aead::LessSafeKey),
    AwsLc(aws_lc_rs::aead::LessSafeKey),
}

macro_rules! key_of {
    ($library:ident, $suite:expr, $secret:expr) => {{
        use $library::aead::{
            AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305, LessSafeKey, UnboundKey,
        };
        let algorithm = match $suite {
            CipherSuite::TLS13_AES_128_GCM_SHA256 => &AES_128_GCM,
            CipherSuite::TLS13_AES_256_GCM_SHA384 => &AES_256_GCM,
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => &CHACHA20_POLY1305,
            _ => return None,
        };
        let mut key = Zeroizing::new([0; 32]);
        let key = &mut key[..algorithm.key_len()];
        $secret.fill(b"key", key)?;
        LessSafeKey::new(UnboundKey::new(algorithm, key).ok()?)
    }};
}

impl Aead {
    fn new(suite: CipherSuite, secret: &Secret) -> Option<Self> {
        Some(if prefers_ring() {
            Self::Ring(key_of!(ring, suite, secret))
        } else {
            Self::AwsLc(key_of!(aws_lc_rs, suite, secret))
        })
    }

    fn seal(
        &self,
        nonce: [u8; NONCE_BYTES],
        aad: [u8; 5],
        bytes: &mut [u8],
    ) -> Option<[u8; TAG_BYTES]> {
        match self {
            Self::Ring(key) => {
                use ring::aead::{Aad, Nonce};
                let nonce = Nonce::assume_unique_for_key(nonce);
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(aad), bytes);
                tag.ok()?.as_ref().try_into().ok()
            }
            Self::AwsLc(key) => {
                use aws_lc_rs::aead::{Aad, Nonce};
                let nonce = Nonce::assume_unique_for_key(nonce);
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(aad), bytes);
                tag.ok()?.as_ref().try_into().ok()
            }
        }
    }

    fn open(
        &self,
        nonce: [u8; NONCE_BYTES],
        aad: [u8; 5],
        bytes: &mut [u8],
        from: usize,
    ) -> Option<usize> {
        match self {
            Self::Ring(key) => {
                use ring::aead::{Aad, Nonce};
                let nonce = Nonce::assume_unique_for_key(nonce);
                let plain = key.open_within(nonce, Aad::from(aad), bytes, from..);
                Some(plain.ok()?.len())
            }
            Self::AwsLc(key) => {
                use aws_lc_rs::aead::{Aad, Nonce};
                let nonce = Nonce::assume_unique_for_key(nonce);
                let plain = key.open_within(nonce, Aad::from(aad), bytes, from..);
                Some(plain.ok()?.len())
            }
        }
    }
}

fn prefers_ring() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        has!("vaes") && has!("vpclmulqdq") && has!("avx2") && !has!("avx512f")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
