/** How much of a transfer is safe at the destination: all of it only when nothing failed. */

import { Progress, type MantineColor } from "@mantine/core";
import type { Transfer, TransferState } from "../api/schema";
import { share } from "../format/units";
import { t } from "../i18n";

export interface Arrival {
  /** Whole percents of everything that should arrive, failed files included. */
  safe: number;
  failed: number;
  totalBytes: number;
}

export function arrival({ state, progress }: Pick<Transfer, "state" | "progress">): Arrival {
  const { bytes_durable: safe, bytes_failed: failed, bytes_total: total, files_failed: lost } = progress;
  const totalBytes = Math.max(total, safe + failed);
  const whole = lost === 0 && failed === 0 && state !== "partial" && state !== "failed";
  const percent = state === "complete" && totalBytes === 0 ? 100 : share(safe, totalBytes);
  return { safe: whole ? percent : Math.min(percent, 99), failed: Math.min(failed > 0 ? Math.max(share(failed, totalBytes), 1) : 0, 100), totalBytes };
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
  const { safe, failed } = arrival(transfer);
  return (
    <Progress.Root size={size}>
      <Progress.Section value={safe} color={color(transfer.state)} aria-label={label} />
      {failed > 0 && <Progress.Section value={Math.min(failed, 100 - safe)} color="red" aria-label={t("transfer.progress.failed")} />}
    </Progress.Root>
  );
}
