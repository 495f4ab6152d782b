/** Names and paths from storage: escaped text from the service (`%XX`), shown whole and never as markup. */

import { visible } from "./text";

/** Cut a long path in the middle, keeping the last name: the end is what tells files apart. */
export function shortened(path: string, limit: number): string {
  const shown = visible(path);
  const points = Array.from(shown);
  if (points.length <= limit) return shown;
  const tail = Math.ceil((limit - 1) * 0.65);
  return `${points.slice(0, limit - 1 - tail).join("")}…${points.slice(-tail).join("")}`;
}

/** `endpoint:/path` in its two parts; null when it has no colon. */
export function splitLocation(location: string): { endpoint: string; path: string } | null {
  const colon = location.indexOf(":");
  if (colon <= 0) return null;
  return { endpoint: location.slice(0, colon), path: location.slice(colon + 1) || "/" };
}

/** The folder above, `/` at the top. */
export function parent(path: string): string {
  const names = path.split("/").filter((name) => name !== "");
  return `/${names.slice(0, -1).join("/")}`;
}

export function join(path: string, name: string): string {
  return `${path.replace(/\/+$/, "")}/${name}`;
}

/** Ids, digests and keys by their beginning, which is enough to tell them apart; other words as they are. */
export function shortId(text: string): string {
  return /^(?:[a-z]{2,3}_|ed25519:)?[0-9A-Za-z_-]{32,}$/.test(text) ? `${text.slice(0, 12)}…` : text;
}
