//! Sealed documents: the exact bytes that were signed, and who signed them.
//!
//! A body is canonical JSON (RFC 8785) whose `type` is `headrace/<type>/v1`. The signature covers that text, a line
//! feed and the body. Bodies are stored, sent and verified as the bytes that were signed, never written again.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::Signer as _;
use ed25519_dalek::pkcs8::EncodePrivateKey as _;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::canonical;
use crate::value::{Digest, Timestamp, serde_as_text};

/// Largest body, in bytes.
pub const MAX_BODY_BYTES: usize = 1 << 20;
/// Largest document: a body whose every byte is escaped once more, and its signatures.
pub const MAX_DOCUMENT_BYTES: usize = 2 * MAX_BODY_BYTES + 16 * 1024;
/// Most signatures on a document.
pub const MAX_SIGNATURES: usize = 16;
/// Most that the clocks of service and nodes may differ, in milliseconds.
pub const MAX_CLOCK_SKEW_MS: i64 = 60_000;

/// Which kind of document a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentType {
    /// A decided transfer.
    Plan,
    /// Permission to list one prefix.
    Permit,
    /// Permission for one attempt of one plan.
    Ticket,
    /// A node's word at the end of an attempt.
    Statement,
    /// What a transfer did, with the statements.
    Receipt,
    /// Which authority key comes after another one.
    Succession,
    /// Which key of a hub comes after another one.
    HubSuccession,
}

impl DocumentType {
    /// The single word used in codes and messages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Permit => "permit",
            Self::Ticket => "ticket",
            Self::Statement => "statement",
            Self::Receipt => "receipt",
            Self::Succession | Self::HubSuccession => "succession",
        }
    }

    /// The `type` of its bodies, which is also the domain of its signatures.
    #[must_use]
    pub const fn domain(self) -> &'static str {
        match self {
            Self::Plan => "headrace/plan/v1",
            Self::Permit => "headrace/permit/v1",
            Self::Ticket => "headrace/ticket/v1",
            Self::Statement => "headrace/statement/v1",
            Self::Receipt => "headrace/receipt/v1",
            Self::Succession => "headrace/succession/v1",
            Self::HubSuccession => "headrace/hub-succession/v1",
        }
    }
}

impl fmt::Display for DocumentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a document gives no permission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// Not a document of this type, or outside its limits.
    #[error("the {document} can't be read: {detail}")]
    Malformed {
        /// What was expected.
        document: DocumentType,
        /// What is wrong with it.
        detail: String,
    },
    /// An accepted key's signature does not fit the bytes.
    #[error("the {document} was altered after it was signed")]
    Altered {
        /// What it claims to be.
        document: DocumentType,
    },
    /// Signed by nobody who is accepted here, or meant for another node.
    #[error("the {document} is not for this place: {detail}")]
    Foreign {
        /// What it claims to be.
        document: DocumentType,
        /// Whose it is, and what was expected.
        detail: String,
    },
    /// Its time is over.
    #[error("the {document} expired at {expires}, {} before what the clock of this host shows ({now})", apart(*.expires, *.now))]
    Expired {
        /// What it is.
        document: DocumentType,
        /// End of its time.
        expires: Timestamp,
        /// The clock that was asked.
        now: Timestamp,
    },
    /// Its time has not come.
    #[error("the {document} is valid from {not_before}, {} after what the clock of this host shows ({now})", apart(*.now, *.not_before))]
    NotYetValid {
        /// What it is.
        document: DocumentType,
        /// Start of its time.
        not_before: Timestamp,
        /// The clock that was asked.
        now: Timestamp,
    },
    /// It names a root that the node does not export.
    #[error("this node exports no root named `{root}`")]
    RootUnknown {
        /// The name in the document.
        root: String,
    },
    /// It asks for more than the root, or the signer there, may do.
    #[error("`{root}` allows at most {allowed} here, {needed} is needed")]
    RootAccess {
        /// The root.
        root: String,
        /// What the document asks for.
        needed: &'static str,
        /// What is allowed at most.
        allowed: &'static str,
    },
}

impl DocumentError {
    /// Every code that [`DocumentError::code`] may give.
    pub const CODES: [&'static str; 32] = [
        "permit_altered",
        "permit_expired",
        "permit_foreign",
        "permit_malformed",
        "permit_not_yet_valid",
        "plan_altered",
        "plan_expired",
        "plan_foreign",
        "plan_malformed",
        "plan_not_yet_valid",
        "receipt_altered",
        "receipt_expired",
        "receipt_foreign",
        "receipt_malformed",
        "receipt_not_yet_valid",
        "root_access",
        "root_unknown",
        "statement_altered",
        "statement_expired",
        "statement_foreign",
        "statement_malformed",
        "statement_not_yet_valid",
        "succession_altered",
        "succession_expired",
        "succession_foreign",
        "succession_malformed",
        "succession_not_yet_valid",
        "ticket_altered",
        "ticket_expired",
        "ticket_foreign",
        "ticket_malformed",
        "ticket_not_yet_valid",
    ];

    /// Stable code, for example `ticket_expired`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        let (document, end) = match self {
            Self::Malformed { document, .. } => (document, "malformed"),
            Self::Altered { document } => (document, "altered"),
            Self::Foreign { document, .. } => (document, "foreign"),
            Self::Expired { document, .. } => (document, "expired"),
            Self::NotYetValid { document, .. } => (document, "not_yet_valid"),
            Self::RootUnknown { .. } => return "root_unknown",
            Self::RootAccess { .. } => return "root_access",
        };
        let code = format!("{document}_{end}");
        Self::CODES
            .into_iter()
            .find(|known| *known == code)
            .unwrap_or("ticket_malformed")
    }
}

/// How long it is from one instant to a later one.
fn apart(from: Timestamp, to: Timestamp) -> String {
    match to.unix_ms().saturating_sub(from.unix_ms()) {
        ms @ ..1000 => format!("{ms} ms"),
        ms => format!("{} s", ms / 1000),
    }
}

/// An Ed25519 public key: the name of a node or of an authority. Written `ed25519:<base64url of 32 bytes>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// From the 32 bytes of the key; whether they are a point of the curve shows when a signature is checked.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        ed25519_dalek::VerifyingKey::from_bytes(&self.0).is_ok_and(|key| {
            key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature))
                .is_ok()
        })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ed25519:{}", URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a public key is not of the form `ed25519:<43 characters of base64url>`")]
pub struct PublicKeyError;

impl FromStr for PublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        let encoded = text.strip_prefix("ed25519:").ok_or(PublicKeyError)?;
        let bytes = URL_SAFE_NO_PAD
            .decode(encoded)
            .map_err(|_| PublicKeyError)?;
        bytes.try_into().map(Self).map_err(|_| PublicKeyError)
    }
}

serde_as_text!(PublicKey);

/// An Ed25519 private key. Its debug form shows only the public half.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// From the 32 secret bytes of the key.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// The 32 secret bytes of the key.
    #[must_use]
    pub fn seed(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// The key as PKCS #8 (version 2, with the public half), as TLS libraries want it.
    #[must_use]
    pub fn pkcs8(&self) -> Vec<u8> {
        // Encoding a key of fixed size has no way to fail; an empty result would be refused by every reader.
        self.0
            .to_pkcs8_der()
            .map(|der| der.as_bytes().to_vec())
            .unwrap_or_default()
    }

    fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

/// A body and its signatures, read but not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    kind: DocumentType,
    body: String,
    signatures: Vec<Signature>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signature {
    alg: Algorithm,
    key: PublicKey,
    #[serde(rename = "signature")]
    bytes: SignatureBytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Algorithm {
    Ed25519,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SignatureBytes([u8; 64]);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    body: String,
    signatures: Vec<Signature>,
}

impl Document {
    /// Reads the JSON text of a document and checks limits, type and that its body is canonical JSON.
    ///
    /// # Errors
    /// [`DocumentError::Malformed`] says what is wrong; no signature is looked at yet.
    pub fn parse(text: &str, document: DocumentType) -> Result<Self, DocumentError> {
        let malformed = |detail: String| DocumentError::Malformed { document, detail };
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(malformed(format!(
                "it is longer than {MAX_DOCUMENT_BYTES} bytes"
            )));
        }
        let wire: Wire =
            serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        if wire.body.len() > MAX_BODY_BYTES {
            return Err(malformed(format!(
                "its body is longer than {MAX_BODY_BYTES} bytes"
            )));
        }
        if wire.signatures.len() > MAX_SIGNATURES {
            return Err(malformed(format!(
                "it has more than {MAX_SIGNATURES} signatures"
            )));
        }
        let this = Self {
            kind: document,
            body: wire.body,
            signatures: wire.signatures,
        };
        this.value()?;
        Ok(this)
    }

    /// Makes a document of the fields of `body`, signed by each key. The `type` field is added.
    ///
    /// # Errors
    /// [`DocumentError::Malformed`] when the body is not an object or longer than [`MAX_BODY_BYTES`].
    pub fn seal(
        document: DocumentType,
        body: &impl Serialize,
        keys: &[&SigningKey],
    ) -> Result<Self, DocumentError> {
        let malformed = |detail: String| DocumentError::Malformed { document, detail };
        let mut value = serde_json::to_value(body).map_err(|error| malformed(error.to_string()))?;
        let fields = value
            .as_object_mut()
            .ok_or_else(|| malformed("a body is an object".to_owned()))?;
        fields.insert("type".to_owned(), Value::from(document.domain()));
        let body = canonical::to_string(&value);
        if body.len() > MAX_BODY_BYTES {
            return Err(malformed(format!(
                "its body is longer than {MAX_BODY_BYTES} bytes"
            )));
        }
        let message = signed_bytes(document, &body);
        let sign = |key: &&SigningKey| Signature {
            alg: Algorithm::Ed25519,
            key: key.public(),
            bytes: SignatureBytes(key.sign(&message)),
        };
        let signatures = keys.iter().map(sign).collect();
        Ok(Self {
            kind: document,
            body,
            signatures,
        })
    }

    /// The JSON text that is stored and sent.
    #[must_use]
    pub fn text(&self) -> String {
        let wire = Wire {
            body: self.body.clone(),
            signatures: self.signatures.clone(),
        };
        serde_json::to_value(wire)
            .map(|value| canonical::to_string(&value))
            .unwrap_or_default()
    }

    /// The exact bytes that were signed, after the domain.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The SHA-256 of the body: what people call the digest of the document.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.body.as_bytes())
    }

    /// What the body says, before anybody vouches for it.
    ///
    /// # Errors
    /// [`DocumentError::Malformed`] when a field is missing, unknown or of another form.
    pub fn claims<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        let mut value = self.value()?;
        if let Some(fields) = value.as_object_mut() {
            fields.remove("type");
        }
        serde_json::from_value(value).map_err(|error| self.malformed(error.to_string()))
    }

    /// The keys that claim to have signed, each once.
    #[must_use]
    pub fn keys(&self) -> Vec<PublicKey> {
        let mut keys: Vec<PublicKey> = self
            .signatures
            .iter()
            .map(|signature| signature.key)
            .collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Those of the accepted keys that signed these bytes; at least one.
    ///
    /// # Errors
    /// [`DocumentError::Foreign`] when no accepted key signed, [`DocumentError::Altered`] when one did, but not these
    /// bytes.
    pub fn signers(&self, accepted: &[PublicKey]) -> Result<Vec<PublicKey>, DocumentError> {
        let message = signed_bytes(self.kind, &self.body);
        let mut signers = Vec::new();
        for signature in self
            .signatures
            .iter()
            .filter(|signature| accepted.contains(&signature.key))
        {
            if !signature.key.verifies(&message, &signature.bytes.0) {
                return Err(DocumentError::Altered {
                    document: self.kind,
                });
            }
            signers.push(signature.key);
        }
        if signers.is_empty() {
            let keys: Vec<String> = self
                .signatures
                .iter()
                .map(|signature| signature.key.to_string())
                .collect();
            let by = if keys.is_empty() {
                "nobody".to_owned()
            } else {
                keys.join(", ")
            };
            let detail = format!("it is signed by {by}, which is not accepted here");
            return Err(DocumentError::Foreign {
                document: self.kind,
                detail,
            });
        }
        Ok(signers)
    }

    fn value(&self) -> Result<Value, DocumentError> {
        let value: Value =
            serde_json::from_str(&self.body).map_err(|error| self.malformed(error.to_string()))?;
        if canonical::to_string(&value) != self.body {
            return Err(self.malformed("its body is not canonical JSON (RFC 8785)".to_owned()));
        }
        if value.get("type").and_then(Value::as_str) != Some(self.kind.domain()) {
            return Err(self.malformed(format!("its type is not `{}`", self.kind.domain())));
        }
        Ok(value)
    }

    fn malformed(&self, detail: String) -> DocumentError {
        DocumentError::Malformed {
            document: self.kind,
            detail,
        }
    }
}

/// The time in which a document is valid, at most an hour long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// First instant.
    pub not_before: Timestamp,
    /// First instant after it.
    pub expires: Timestamp,
}

impl Validity {
    /// Longest validity of a permit or ticket, in milliseconds.
    pub const MAX_MS: i64 = 3_600_000;

    /// Checks the clock. A start up to [`MAX_CLOCK_SKEW_MS`] ahead is accepted, since the signer's clock may be ahead
    /// of ours; the end is taken at its word.
    ///
    /// # Errors
    /// [`DocumentError::Expired`], [`DocumentError::NotYetValid`], or [`DocumentError::Malformed`] when the validity
    /// is longer than [`Validity::MAX_MS`].
    pub fn check(&self, document: DocumentType, now: Timestamp) -> Result<(), DocumentError> {
        let Self {
            not_before,
            expires,
        } = *self;
        if not_before.plus_ms(Self::MAX_MS) < expires {
            let detail = format!(
                "it is valid for more than {} minutes",
                Self::MAX_MS / 60_000
            );
            return Err(DocumentError::Malformed { document, detail });
        }
        if now >= expires {
            return Err(DocumentError::Expired {
                document,
                expires,
                now,
            });
        }
        if now.plus_ms(MAX_CLOCK_SKEW_MS) < not_before {
            return Err(DocumentError::NotYetValid {
                document,
                not_before,
                now,
            });
        }
        Ok(())
    }
}

impl Serialize for SignatureBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de> Deserialize<'de> for SignatureBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(D::Error::custom)?;
        bytes
            .try_into()
            .map(Self)
            .map_err(|_| D::Error::custom("a signature is not 64 bytes"))
    }
}

fn signed_bytes(document: DocumentType, body: &str) -> Vec<u8> {
    [document.domain().as_bytes(), b"\n", body.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const TICKET: DocumentType = DocumentType::Ticket;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn document() -> Document {
        Document::seal(TICKET, &json!({"b": "1", "a": ["é", "\u{1}"]}), &[&key(1)])
            .expect("a small body")
    }

    fn read(body: &str) -> Result<Document, DocumentError> {
        Document::parse(&json!({"body": body, "signatures": []}).to_string(), TICKET)
    }

    #[test]
    fn invariant_2_a_signature_is_over_the_exact_bytes() {
        let sealed = document();
        assert_eq!(
            sealed.body(),
            r#"{"a":["é","\u0001"],"b":"1","type":"headrace/ticket/v1"}"#
        );
        let parsed = Document::parse(&sealed.text(), TICKET).expect("our own document");
        assert_eq!(parsed, sealed);
        assert_eq!(
            parsed.signers(&[key(2).public(), key(1).public()]),
            Ok(vec![key(1).public()])
        );

        let altered = sealed.text().replace(r#"\"b\":\"1\""#, r#"\"b\":\"2\""#);
        let altered = Document::parse(&altered, TICKET).expect("still a document");
        assert_eq!(
            altered.signers(&[key(1).public()]),
            Err(DocumentError::Altered { document: TICKET })
        );
    }

    #[test]
    fn a_signature_of_another_type_is_not_taken() {
        let permit =
            Document::seal(DocumentType::Permit, &json!({}), &[&key(1)]).expect("a small body");
        assert!(Document::parse(&permit.text(), TICKET).is_err());
        let ticket = Document::seal(TICKET, &json!({}), &[&key(1)]).expect("a small body");
        let moved = Document {
            signatures: permit.signatures,
            ..ticket
        };
        assert_eq!(
            moved
                .signers(&[key(1).public()])
                .map_err(|error| error.code()),
            Err("ticket_altered")
        );
    }

    #[test]
    fn a_document_signed_by_strangers_is_foreign() {
        let code = |keys: &[PublicKey]| document().signers(keys).map_err(|error| error.code());
        assert_eq!(code(&[key(2).public()]), Err("ticket_foreign"));
        assert_eq!(code(&[]), Err("ticket_foreign"));
    }

    #[test]
    fn one_bad_signature_of_an_accepted_key_spoils_the_document() {
        let mut sealed =
            Document::seal(TICKET, &json!({}), &[&key(1), &key(2)]).expect("a small body");
        sealed.signatures[1].bytes.0[0] ^= 1;
        assert_eq!(
            sealed.signers(&[key(1).public()]),
            Ok(vec![key(1).public()])
        );
        let both = [key(1).public(), key(2).public()];
        assert_eq!(
            sealed.signers(&both).map_err(|error| error.code()),
            Err("ticket_altered")
        );
    }

    #[test]
    fn bodies_have_one_spelling() {
        assert!(read(r#"{"a":1,"type":"headrace/ticket/v1"}"#).is_ok());
        for body in [
            r#"{"a":1, "type":"headrace/ticket/v1"}"#,
            r#"{"type":"headrace/ticket/v1","a":1}"#,
            r#"{"a":1,"a":2,"type":"headrace/ticket/v1"}"#,
            r#"{"a":1.0,"type":"headrace/ticket/v1"}"#,
            r#"{"a":"\u0041","type":"headrace/ticket/v1"}"#,
            r#"{"a":"\/","type":"headrace/ticket/v1"}"#,
            r#"{"a":1}"#,
            r#"{"type":"headrace/permit/v1"}"#,
            "[]",
            "",
        ] {
            assert_eq!(
                read(body).map_err(|error| error.code()),
                Err("ticket_malformed"),
                "{body}"
            );
        }
        assert!(read(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn oversized_documents_are_refused_before_they_are_read() {
        let code = |text: &str| Document::parse(text, TICKET).map_err(|error| error.code());
        assert_eq!(
            code(&" ".repeat(MAX_DOCUMENT_BYTES + 1)),
            Err("ticket_malformed")
        );
        let large = json!({"a": "x".repeat(MAX_BODY_BYTES)});
        assert!(Document::seal(TICKET, &large, &[]).is_err());
        assert!(read(&canonical::to_string(&large)).is_err());
        let keys: Vec<SigningKey> = (0..17).map(key).collect();
        let many = Document::seal(TICKET, &json!({}), &keys.iter().collect::<Vec<_>>())
            .expect("a small body");
        assert_eq!(code(&many.text()), Err("ticket_malformed"));
    }

    #[test]
    fn validity_is_checked_with_a_minute_of_grace_at_its_start_only() {
        let at = Timestamp::from_unix_ms;
        let validity = Validity {
            not_before: at(1_000_000),
            expires: at(1_900_000),
        };
        let code = |now| {
            validity
                .check(TICKET, at(now))
                .map_err(|error| error.code())
        };
        assert_eq!(code(939_999), Err("ticket_not_yet_valid"));
        assert_eq!(code(940_000), Ok(()));
        assert_eq!(code(1_899_999), Ok(()));
        assert_eq!(code(1_900_000), Err("ticket_expired"));
        let said = |now| {
            validity
                .check(TICKET, at(now))
                .expect_err("refused")
                .to_string()
        };
        let shown = "what the clock of this host shows";
        assert!(said(930_000).contains(&format!(", 70 s after {shown} (1970-01-01T00:15:30")));
        assert!(said(1_900_020).contains(&format!(", 20 ms before {shown}")));
        let long = Validity {
            not_before: at(0),
            expires: at(Validity::MAX_MS + 1),
        };
        assert_eq!(
            long.check(TICKET, at(1)).map_err(|error| error.code()),
            Err("ticket_malformed")
        );
    }

    #[test]
    fn keys_are_written_as_text() {
        let public = key(1).public();
        assert_eq!(public.to_string().parse(), Ok(public));
        for text in [
            "",
            "ed25519:",
            "rsa:AAAA",
            &format!("{public}="),
            &public.to_string()[..49],
        ] {
            assert_eq!(text.parse::<PublicKey>(), Err(PublicKeyError), "{text}");
        }
        assert!(!format!("{:?}", key(1)).contains("AQEB"));
    }

    #[test]
    fn a_signature_of_a_key_of_small_order_is_not_taken() {
        // With the identity as key, a signature (identity, 0) would fit every message under lax rules.
        let mut identity = [0; 32];
        identity[0] = 1;
        let mut signature = [0; 64];
        signature[0] = 1;
        assert!(!PublicKey::from_bytes(identity).verifies(b"anything", &signature));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_fall_over(text in ".{0,200}") {
            let _ = Document::parse(&text, TICKET);
            let _ = read(&text);
        }
    }
}
