/** A dialog that makes a secret and shows it once: from then on it closes only for a person who says that it is saved. */

import { Checkbox, Modal, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { isLeaving } from "../api/session";
import { t } from "../i18n";
import { Act, Copyable } from "./basics";
import classes from "./basics.module.css";

interface Made {
  /** What the text is, for the button that copies it. */
  label: string;
  text: string;
  /** What to do with it, and how long it is valid. */
  lead: ReactNode;
}

interface Props {
  title: string;
  /** Null until the form, the children, has made the secret. */
  made: Made | null;
  /** The secret is being made. */
  busy: boolean;
  close: () => void;
  children: ReactNode;
}

export function ShownOnce({ title, made, busy, close, children }: Props) {
  const held = busy || made !== null;
  return (
    <Modal
      opened
      onClose={close}
      title={title}
      size="lg"
      closeOnClickOutside={!held}
      closeOnEscape={!held}
      withCloseButton={!held}
      closeButtonProps={{ "aria-label": t("action.close") }}
    >
      {made === null ? children : <Shown made={made} close={close} />}
    </Modal>
  );
}

function Shown({ made, close }: { made: Made; close: () => void }) {
  const [saved, setSaved] = useState(false);
  useBlocker({ shouldBlockFn: () => !saved && !isLeaving(), enableBeforeUnload: () => !saved && !isLeaving() });
  return (
    <div className={classes.stack}>
      <Text>{made.lead}</Text>
      <Copyable label={made.label} text={made.text} />
      <Checkbox data-autofocus checked={saved} onChange={(event) => setSaved(event.currentTarget.checked)} label={t("once.saved")} />
      <div>
        <Act size="sm" blocked={saved ? null : t("once.needsSaved")} onClick={close}>
          {t("action.close")}
        </Act>
      </div>
    </div>
  );
}
