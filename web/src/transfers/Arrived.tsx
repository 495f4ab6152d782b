/** How much of a transfer is safe at the destination: all of it only when nothing failed. */

import { Progress, type MantineColor } from "@mantine/core";
import { ENDED } from "../api/queries";
import type { Transfer, TransferState } from "../api/schema";
import { share } from "../format/units";
import { t } from "../i18n";

export interface Arrival {
  /** Whole percents of everything that should arrive, failed files included. */
  safe: number;
  failed: number;
  /** Received, and not yet safe. */
  underWay: number;
  totalBytes: number;
}

export function arrival({ state, progress }: Pick<Transfer, "state" | "progress">): Arrival {
  const { bytes_durable: safe, bytes_failed: failed, bytes_received: received, bytes_total: total, files_failed: lost, files_done: done, files_total: files, deleted, deletes_total: deletes } = progress;
  const totalBytes = Math.max(total, safe + failed);
  const stillDeletes = !ENDED.has(state) && deleted < deletes;
  const whole = lost === 0 && failed === 0 && state !== "partial" && state !== "failed" && !stillDeletes;
  // Without a byte to copy (everything was there, or is empty) the files are what is counted.
  const percent = totalBytes > 0 ? share(safe, totalBytes) : state === "complete" ? 100 : share(done, files);
  const shown = whole ? percent : Math.min(percent, 99);
  const underWay = ENDED.has(state) ? 0 : Math.max(share(Math.min(received, totalBytes), totalBytes) - shown, 0);
  return { safe: shown, failed: Math.min(failed > 0 ? Math.max(share(failed, totalBytes), 1) : 0, 100), underWay, totalBytes };
}

function color(state: TransferState): MantineColor {
  switch (state) {
    case "queued":
    case "running":
      return "water";
    case "waiting":
    case "partial":
      return "orange";
    case "paused":
      return "yellow";
    case "complete":
      return "green";
    case "failed":
      return "red";
    case "canceled":
      return "gray";
  }
}

export function Arrived({ transfer, label, size }: { transfer: Transfer; label: string; size: "sm" | "lg" }) {
  const { safe, failed, underWay } = arrival(transfer);
  return (
    <Progress.Root size={size}>
      <Progress.Section value={safe} color={color(transfer.state)} aria-label={label} />
      {underWay > 0 && <Progress.Section value={underWay} color={`${color(transfer.state)}.3`} aria-label={t("transfer.progress.underWay")} />}
      {failed > 0 && <Progress.Section value={Math.min(failed, 100 - safe - underWay)} color="red" aria-label={t("transfer.progress.failed")} />}
    </Progress.Root>
  );
}
