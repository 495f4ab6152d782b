/** Consent that proves a person: where the service wants it, a proof comes with what is agreed to, for that one request. */

import { Button, PasswordInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { signed, whyNoPasskey } from "../api/passkey";
import { ApiError } from "../api/problem";
import { onProven, toProvider } from "../api/proven";
import type { PasskeyAnswer, PasskeyChallenge, ProviderChallenge } from "../api/schema";
import { t } from "../i18n";
import { Act, Failure } from "./basics";
import { NoPasskeysHere } from "./passkeys";

/** What goes into a request that is proven. */
export interface Given {
  password?: string;
  passkey?: PasskeyAnswer;
  provider?: string;
}

interface Proof {
  /** What goes into the request; an answer of a passkey or of a provider goes into one. */
  take: () => Given;
  /** Where the proof is given; nothing until the service has asked for it by this error. `again` makes the same request. */
  field: (error: unknown, again: () => void) => ReactNode;
  /** It was used: the next consent needs its own. */
  used: () => void;
}

export function useProof(): Proof {
  const [password, setPassword] = useState("");
  const answer = useRef<Given>(undefined);
  return {
    take: () => {
      const given = answer.current;
      answer.current = undefined;
      if (given !== undefined) return given;
      return password === "" ? {} : { password };
    },
    field: (error, again) => {
      const problem = error instanceof ApiError ? error.problem : null;
      const asked = problem?.proof ?? null;
      const give = (given: Given) => {
        answer.current = given;
        again();
      };
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
          {asked?.passkey != null && <UsePasskey asked={asked.passkey} got={(passkey) => give({ passkey })} />}
          {asked?.provider != null && <AtProvider asked={asked.provider} got={(provider) => give({ provider })} />}
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
      <NoPasskeysHere origin={asked.origin} />
      {sign.isError && <Failure error={sign.error} />}
    </div>
  );
}

/** The sign-in is in a tab of its own, so that nothing of this page is lost. */
function AtProvider({ asked, got }: { asked: ProviderChallenge; got: (answer: string) => void }) {
  useEffect(() => onProven(asked.id, got), [asked.id, got]);
  return (
    <Button component="a" variant="default" size="sm" href={toProvider(asked)} target="_blank">
      {t("proof.provider", { name: asked.name })}
    </Button>
  );
}
