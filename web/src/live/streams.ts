/**
 * How many streams one browser holds. Over HTTP/1.1 a browser opens six connections to the service, for all tabs together: streams take
 * at most three of them, and only of tabs that are seen, so that requests always have some.
 */

const SLOTS = ["headrace-stream-1", "headrace-stream-2", "headrace-stream-3"];

/** Run `act` while this tab holds one of the browser's streams; nothing runs, and the answer is false, when all are taken. */
export async function withStream(act: () => Promise<void>): Promise<boolean> {
  const manager = locks();
  if (manager === undefined) return false;
  for (const slot of SLOTS) {
    const ran = await manager.request(slot, { ifAvailable: true }, async (lock) => {
      if (lock !== null) await act();
      return lock !== null;
    });
    if (ran) return true;
  }
  return false;
}

/** Browsers have locks only where pages are secure: over TLS, or from this machine. */
function locks(): LockManager | undefined {
  return navigator.locks;
}

/** Resolves when the page is seen, or when `stop` says so. */
export async function seen(stop: AbortSignal): Promise<void> {
  if (!document.hidden || stop.aborted) return;
  await new Promise<void>((resolve) => {
    const look = () => {
      if (document.hidden && !stop.aborted) return;
      document.removeEventListener("visibilitychange", look);
      stop.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    stop.addEventListener("abort", look);
  });
}
