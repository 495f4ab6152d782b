/** Passkeys: what the browser asks of a device, in the words of the service. Bytes are base64url on the wire. */

import { t } from "../i18n";
import type { Me, PasskeyAnswer, PasskeyChallenge, PasskeyRequest } from "./schema";

/** ES256, EdDSA, RS256: what every device knows one of. */
const ALGORITHMS = [-7, -8, -257] as const;
const LIMIT_MS = 240_000;

/** The person, or the browser, gave no answer. */
export class NoAnswer extends Error {
  constructor(detail = t("passkey.noAnswer")) {
    super(detail);
    this.name = "NoAnswer";
  }
}

/** Why passkeys can't be used on this page; nothing stands against it when `null`. */
export function whyNoPasskey(origin: string | null | undefined): string | null {
  if (origin == null) return t("passkey.nowhere");
  if (window.location.origin !== origin) return t("passkey.elsewhere", { origin });
  return "credentials" in navigator ? null : t("passkey.browser");
}

/** Let one of the person's passkeys sign the challenge. */
export async function signed(asked: PasskeyChallenge): Promise<PasskeyAnswer> {
  const publicKey: PublicKeyCredentialRequestOptions = {
    challenge: toBytes(asked.challenge),
    rpId: asked.party,
    allowCredentials: named(asked),
    userVerification: "required",
    timeout: LIMIT_MS,
  };
  const found = await given(navigator.credentials.get({ publicKey }));
  const { response } = found;
  if (!(response instanceof AuthenticatorAssertionResponse)) throw new NoAnswer();
  return {
    id: found.id,
    client_data: toText(response.clientDataJSON),
    authenticator_data: toText(response.authenticatorData),
    signature: toText(response.signature),
    kept: asked.kept,
  };
}

/** Make a passkey on a device of this person. */
export async function made(asked: PasskeyChallenge, me: Me, name: string): Promise<PasskeyRequest> {
  const publicKey: PublicKeyCredentialCreationOptions = {
    challenge: toBytes(asked.challenge),
    rp: { id: asked.party, name: "Headrace" },
    user: { id: new TextEncoder().encode(me.id), name: me.name, displayName: me.name },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
    excludeCredentials: named(asked),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    attestation: "none",
    timeout: LIMIT_MS,
  };
  const found = await given(navigator.credentials.create({ publicKey }));
  const { response } = found;
  if (!(response instanceof AuthenticatorAttestationResponse)) throw new NoAnswer();
  return {
    name,
    id: found.id,
    client_data: toText(response.clientDataJSON),
    attestation_object: toText(response.attestationObject),
    kept: asked.kept,
  };
}

async function given(asking: Promise<Credential | null>): Promise<PublicKeyCredential> {
  let found: Credential | null;
  try {
    found = await asking;
  } catch (error) {
    if (error instanceof DOMException) throw new NoAnswer();
    throw error;
  }
  if (!(found instanceof PublicKeyCredential)) throw new NoAnswer();
  return found;
}

function named({ passkeys }: PasskeyChallenge): PublicKeyCredentialDescriptor[] {
  return passkeys.map((id) => ({ type: "public-key", id: toBytes(id) }));
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  const binary = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
