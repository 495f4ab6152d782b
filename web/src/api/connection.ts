/** Whether the service answers, and since when it does not. */

import { useSyncExternalStore } from "react";

export interface Connection {
  lostAt: number | null;
  heardAt: number;
}

let state: Connection = { lostAt: null, heardAt: Date.now() };
const listeners = new Set<() => void>();

function become(next: Connection): void {
  const told = next.lostAt !== state.lostAt;
  state = next;
  if (told) for (const listener of listeners) listener();
}

export function heard(): void {
  const back = state.lostAt !== null;
  become({ lostAt: null, heardAt: Date.now() });
  if (back) returned();
}

let returned = (): void => undefined;

/** What to do when the service answers again; the last one said counts. */
export function onReturn(act: () => void): void {
  returned = act;
}

export function lost(): void {
  become({ lostAt: state.lostAt ?? Date.now(), heardAt: state.heardAt });
}

export function connection(): Connection {
  return state;
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}
