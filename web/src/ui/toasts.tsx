/** Short news of what was just done, read aloud politely; at most four at once. */

import { Notification } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { t } from "../i18n";
import classes from "./toasts.module.css";

interface Toast {
  id: number;
  message: string;
}

const SHOWN_MS = 6000;
let toasts: readonly Toast[] = [];
let made = 0;
const listeners = new Set<() => void>();

function become(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function tell(message: string): void {
  made += 1;
  const id = made;
  become([...toasts, { id, message }].slice(-4));
  setTimeout(() => forget(id), SHOWN_MS);
}

function forget(id: number): void {
  become(toasts.filter((toast) => toast.id !== id));
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className={classes.region} role="status" aria-live="polite">
      {shown.map(({ id, message }) => (
        <Notification key={id} onClose={() => forget(id)} closeButtonProps={{ "aria-label": t("action.dismiss") }} withBorder>
          {message}
        </Notification>
      ))}
    </div>
  );
}
