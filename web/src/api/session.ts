/**
 * Who is signed in is a matter of the whole browser: every tab learns of its end and of its change. The page is then loaded anew, so that
 * nothing of the person before stays in memory.
 */

import type { SignedOut } from "./schema";

/** Why a sign-in at a provider ended without a session. */
export const REFUSED = ["no_role", "provider_failed", "sign_in_expired", "sign_in_refused", "too_many_attempts"] as const;
export type Refused = (typeof REFUSED)[number];

type News = "ended" | "signed-in";

const channel = new BroadcastChannel("headrace-session");
let leaving = false;

/** Whether this page is being left because its session ended: nothing may ask to stay. */
export function isLeaving(): boolean {
  return leaving;
}

/** The service refused the session: say so in every tab, and come back here after signing in. */
export function sessionEnded(): void {
  if (leaving || isOutside()) return;
  tell("ended");
  leave(signInPath(window.location.pathname + window.location.search));
}

/** This person signed out here: nobody who comes next sees where they were. A provider's own session ends there (`elsewhere`). */
export function signedOut({ elsewhere }: SignedOut): void {
  tell("ended");
  leave(elsewhere ?? signInPath());
}

export function signedIn(next: string | undefined): void {
  tell("signed-in");
  leave(placeHere(next));
}

/** Follow what other tabs say, and look again when the browser brings a page back as it was. */
export function followSession(): void {
  channel.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    if (data === "ended" && !isOutside()) leave(signInPath());
    if (data === "signed-in") {
      if (isOutside()) leave(placeHere(new URLSearchParams(window.location.search).get("next") ?? undefined));
      else window.location.reload();
    }
  });
  window.addEventListener("pageshow", ({ persisted }) => {
    if (persisted) window.location.reload();
  });
}

/** Only a place of this console: an address from elsewhere is not followed. */
export function placeHere(next: string | undefined): string {
  return next !== undefined && /^\/(?![/\\])/.test(next) ? next : "/transfers";
}

function signInPath(next?: string): string {
  return next === undefined ? "/sign-in" : `/sign-in?${new URLSearchParams({ next }).toString()}`;
}

function isOutside(): boolean {
  return ["/sign-in", "/accept", "/proven"].includes(window.location.pathname);
}

function tell(news: News): void {
  channel.postMessage(news);
}

function leave(to: string): void {
  leaving = true;
  window.location.replace(to);
}
