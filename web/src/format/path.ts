/** Names and paths from storage: escaped text from the service (`%XX`), shown whole and never as markup. */

/** Characters that change how others are shown or can't be seen: controls, zero-width, bidi, line separators. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]/g;

/** Make every unseen character visible as `<U+202E>`; the service has escaped bytes that are not text already. */
export function visible(name: string): string {
  return name.replace(UNSEEN, (found) => `<U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

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
