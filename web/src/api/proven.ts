/** A fresh sign-in at the provider ends in a tab of its own: it tells the tab where the person agreed to something. */

import type { ProviderChallenge } from "./schema";

/** Why such a sign-in proved nothing. */
export const UNPROVEN = ["not_signed_in", "provider_failed", "provider_proof_refused"] as const;
export type Unproven = (typeof UNPROVEN)[number];

const channel = new BroadcastChannel("headrace-proof");

/** Where the person goes; a link there carries the session, which an address typed or sent by somebody does not. */
export function toProvider({ provider, kept }: ProviderChallenge): string {
  return `/api/v1/sign-in/${provider}?${new URLSearchParams({ proof: kept }).toString()}`;
}

export function tellProven(id: string, answer: string): void {
  channel.postMessage({ id, answer });
}

/** Hear the answer to one challenge; returns how to stop. */
export function onProven(id: string, heard: (answer: string) => void): () => void {
  const listen = ({ data }: MessageEvent<unknown>) => {
    if (typeof data !== "object" || data === null || Reflect.get(data, "id") !== id) return;
    const answer: unknown = Reflect.get(data, "answer");
    if (typeof answer === "string") heard(answer);
  };
  channel.addEventListener("message", listen);
  return () => channel.removeEventListener("message", listen);
}
