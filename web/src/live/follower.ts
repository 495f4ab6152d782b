/** Comes back to a stream after every break, while its page is seen: later after each failure in a row. */

import { readStream, type Ended } from "./reader";
import type { ServerEvent } from "./sse";
import { seen, withStream } from "./streams";

const AGAIN_MS = 1000;

export type Pause = (ms: number) => Promise<unknown>;

const pausing: Pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export abstract class Follower {
  private failures = 0;
  private refused = false;

  /** `last` is the number to go on after; `null`: from now on. Waits grow to `longestMs`. */
  protected constructor(
    private readonly path: string,
    protected last: string | null,
    private readonly longestMs: number,
    protected readonly stop: AbortSignal,
    private readonly pause: Pause = pausing,
  ) {}

  /** Ends when it is stopped, when it is over, or when the service says that this is not to be seen. */
  async follow(): Promise<void> {
    for (;;) {
      await seen(this.stop);
      if (this.ends()) return;
      // Without one of the browser's few streams pages still follow, by asking.
      await withStream(() => this.stream());
      if (this.ends()) return;
      await this.asked();
      if (this.ends()) return;
      await this.pause(Math.min(AGAIN_MS * 2 ** Math.max(0, this.failures - 1), this.longestMs));
    }
  }

  /** Take what was told; its number is remembered after that. */
  protected abstract take(event: ServerEvent): void;

  /** A stream has ended. */
  protected broke(): void {}

  /** Ask for what a stream would have told. */
  protected asked(): Promise<void> {
    return Promise.resolve();
  }

  protected isOver(): boolean {
    return false;
  }

  private ends(): boolean {
    return this.stop.aborted || this.refused || this.isOver();
  }

  private async stream(): Promise<void> {
    const ended: Ended = await readStream({
      path: this.path,
      last: this.last,
      stop: this.stop,
      take: (event) => {
        this.failures = 0;
        this.take(event);
        this.last = event.id ?? this.last;
      },
    });
    this.refused = ended === "refused";
    if (ended !== "whole") this.failures += 1;
    this.broke();
  }
}
