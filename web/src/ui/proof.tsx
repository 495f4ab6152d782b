/** A yes that proves a person: where the service wants it, the password is typed with what is agreed to. */

import { PasswordInput } from "@mantine/core";
import { useState } from "react";
import type { ReactNode } from "react";
import { ApiError } from "../api/problem";
import { t } from "../i18n";

const WANTED = new Set(["proof_needed", "proof_refused"]);

interface Proof {
  /** What goes into the request. */
  given: { password?: string };
  /** Where the password is typed; nothing until the service has asked for it by this error. */
  field: (error: unknown) => ReactNode;
  /** It was used: the next yes needs its own. */
  used: () => void;
}

export function useProof(): Proof {
  const [password, setPassword] = useState("");
  return {
    given: password === "" ? {} : { password },
    field: (error) => (password !== "" || (error instanceof ApiError && WANTED.has(error.problem.code))) && (
      <PasswordInput
        label={t("proof.password")}
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        visibilityToggleButtonProps={{ "aria-label": t("person.password.show"), tabIndex: 0 }}
      />
    ),
    used: () => setPassword(""),
  };
}
