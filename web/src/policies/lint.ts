/** Asks the Cedar worker; only the newest text is answered. */

import type { Finding } from "./findings";

interface Answer {
  id: number;
  findings: Finding[];
}

export class Linter {
  private readonly worker = new Worker(new URL("./cedar.worker.ts", import.meta.url), { type: "module", name: "cedar" });
  private asked = 0;
  private waiting: { id: number; tell: (findings: Finding[]) => void } | null = null;

  constructor() {
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.id !== this.waiting?.id) return;
      this.waiting.tell(data.findings);
      this.waiting = null;
    };
  }

  lint(text: string): Promise<Finding[]> {
    this.asked += 1;
    const id = this.asked;
    return new Promise((tell) => {
      this.waiting?.tell([]);
      this.waiting = { id, tell };
      this.worker.postMessage({ id, text });
    });
  }

  close(): void {
    this.waiting?.tell([]);
    this.worker.terminate();
  }
}
