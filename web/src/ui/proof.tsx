/** Consent that proves a person: where the service wants it, a proof comes with what is agreed to, for that one request. */

import { PasswordInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type { ReactNode } from "react";
import { signed, whyNoPasskey } from "../api/passkey";
import { ApiError } from "../api/problem";
import type { PasskeyAnswer, PasskeyChallenge } from "../api/schema";
import { t } from "../i18n";
import { Act, Failure } from "./basics";

interface Proof {
  /** What goes into the request; a passkey's answer goes into one. */
  take: () => { password?: string; passkey?: PasskeyAnswer };
  /** Where the proof is given; nothing until the service has asked for it by this error. `again` makes the same request. */
  field: (error: unknown, again: () => void) => ReactNode;
  /** It was used: the next consent needs its own. */
  used: () => void;
}

export function useProof(): Proof {
  const [password, setPassword] = useState("");
  const answer = useRef<PasskeyAnswer>(undefined);
  return {
    take: () => {
      const passkey = answer.current;
      answer.current = undefined;
      if (passkey !== undefined) return { passkey };
      return password === "" ? {} : { password };
    },
    field: (error, again) => {
      const problem = error instanceof ApiError ? error.problem : null;
      const asked = problem?.proof ?? null;
      const typed = password !== "" || problem?.code === "proof_refused" || (asked?.ways.includes("password") ?? false);
      return (
        <>
          {typed && (
            <PasswordInput
              label={t("proof.password")}
              autoComplete="current-password"
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
              visibilityToggleButtonProps={{ "aria-label": t("person.password.show"), tabIndex: 0 }}
            />
          )}
          {asked?.passkey != null && (
            <UsePasskey
              asked={asked.passkey}
              got={(found) => {
                answer.current = found;
                again();
              }}
            />
          )}
        </>
      );
    },
    used: () => setPassword(""),
  };
}

function UsePasskey({ asked, got }: { asked: PasskeyChallenge; got: (answer: PasskeyAnswer) => void }) {
  const sign = useMutation({ mutationFn: () => signed(asked), onSuccess: got });
  return (
    <div>
      <Act variant="default" size="sm" blocked={whyNoPasskey(asked.origin)} loading={sign.isPending} onClick={() => sign.mutate()}>
        {t("proof.passkey")}
      </Act>
      {sign.isError && <Failure error={sign.error} />}
    </div>
  );
}
