import { Box, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, done } from "../api/client";
import { made, signed, whyNoPasskey } from "../api/passkey";
import { ApiError } from "../api/problem";
import { passkeysQuery } from "../api/people-queries";
import { meQuery, waysQuery } from "../api/queries";
import type { Passkey, PasskeyAnswer } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Reasoned } from "../transfers/Reasoned";
import { Listing } from "../ui/Listing";
import { useAsked } from "../ui/asked";
import { Act, Card, Empty, Failure, Time } from "../ui/basics";
import { NoPasskeysHere } from "../ui/passkeys";
import { type Given, useProof } from "../ui/proof";
import { tell } from "../ui/toasts";

/** A person's own passkeys: what they are called, and one more. */
export function Passkeys() {
  const { data: passkeys } = useSuspenseQuery(passkeysQuery());
  return (
    <Card title={t("account.passkeys")}>
      <Rows
        passkeys={passkeys}
        remove={(passkey, body) => done(api.POST("/api/v1/passkeys/{passkey}/remove", { params: { path: { passkey } }, body }))}
        detail={t("account.passkeys.ask.detail")}
      />
      {passkeys.length > 0 && <Use />}
      <Add />
    </Card>
  );
}

/** Somebody's passkeys, as an administrator sees them, who removes a lost one. */
export function PasskeysOf({ person }: { person: string }) {
  const { data: passkeys } = useSuspenseQuery(passkeysQuery(person));
  return (
    <Card title={t("account.passkeys")}>
      {passkeys.length === 0 && <Empty title={t("person.passkeys.none")} />}
      <Rows
        passkeys={passkeys}
        remove={(passkey, body) => done(api.POST("/api/v1/people/{person}/passkeys/{passkey}/remove", { params: { path: { person, passkey } }, body }))}
        detail={t("person.passkeys.ask.detail")}
      />
    </Card>
  );
}

interface RowsProps {
  passkeys: readonly Passkey[];
  remove: (passkey: string, proof: Given) => Promise<unknown>;
  /** What it means that one is gone. */
  detail: string;
}

function Rows({ passkeys, remove, detail }: RowsProps) {
  const proof = useProof();
  const removing = useAsked({
    act: ({ id }: Passkey) => remove(id, proof.take()),
    told: () => {
      proof.used();
      return t("account.passkeys.removed");
    },
    changes: [["passkeys"]],
  });
  return (
    <>
      {passkeys.length > 0 && (
        <Listing part label={t("account.passkeys")} heads={[t("person.name"), t("account.passkeys.added"), t("account.sessions.used"), t("nodes.actions")]}>
          {passkeys.map((passkey) => (
            <Table.Tr key={passkey.id}>
              <Table.Td>{visible(passkey.name)}</Table.Td>
              <Table.Td>
                <Time value={passkey.created} />
              </Table.Td>
              <Table.Td>
                <Time value={passkey.last_used} />
              </Table.Td>
              <Table.Td>
                <Act color="red" variant="outline" size="compact-xs" onClick={() => removing.ask(passkey)}>
                  {t("account.passkeys.remove")}
                </Act>
              </Table.Td>
            </Table.Tr>
          ))}
        </Listing>
      )}
      {removing.one !== null && (
        <Reasoned
          title={t("account.passkeys.ask", { name: visible(removing.one.name) })}
          detail={detail}
          verb={t("account.passkeys.remove")}
          reason="none"
          proof={proof.field(removing.dialog.error, removing.dialog.go)}
          {...removing.dialog}
        />
      )}
    </>
  );
}

/** Shows one in this session, where policy wants that of whoever signed in without. */
function Use() {
  const client = useQueryClient();
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: ways } = useSuspenseQuery(waysQuery);
  const use = useMutation({
    mutationFn: async () => {
      const send = (passkey?: PasskeyAnswer) => done(api.POST("/api/v1/passkeys/use", { body: { passkey } }));
      try {
        await send();
      } catch (error) {
        const asked = error instanceof ApiError ? error.problem.proof?.passkey : null;
        if (asked == null) throw error;
        await send(await signed(asked));
      }
    },
    onSuccess: () => {
      tell(t("account.passkeys.used"));
      return client.invalidateQueries({ queryKey: meQuery.queryKey });
    },
  });
  if (me.factors.includes("passkey")) return null;
  return (
    <Box mb="md">
      <Text size="sm" mb="xs">
        {t("account.passkeys.use.detail")}
      </Text>
      {use.isError && <Failure error={use.error} />}
      <Act variant="default" blocked={whyNoPasskey(ways.passkeys)} loading={use.isPending} onClick={() => use.mutate()}>
        {t("account.passkeys.use")}
      </Act>
    </Box>
  );
}

function Add() {
  const client = useQueryClient();
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: ways } = useSuspenseQuery(waysQuery);
  const [name, setName] = useState("");
  const proof = useProof();
  const add = useMutation({
    mutationFn: async () => {
      const asked = await answer(api.POST("/api/v1/passkeys/challenge", { body: proof.take() }));
      return answer(api.POST("/api/v1/passkeys", { body: await made(asked, me, name) }));
    },
    onSuccess: (added) => {
      proof.used();
      setName("");
      tell(t("account.passkeys.made", { name: added.name }));
      return client.invalidateQueries({ queryKey: passkeysQuery().queryKey });
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
      }}
    >
      <TextInput
        mb="sm"
        label={t("account.passkeys.name")}
        description={t("account.passkeys.name.detail")}
        required
        withAsterisk={false}
        maxLength={64}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {add.isError && <Failure error={add.error} />}
      {proof.field(add.error, () => add.mutate())}
      <Act type="submit" mt="sm" blocked={whyNoPasskey(ways.passkeys)} loading={add.isPending}>
        {t("account.passkeys.add")}
      </Act>
      <NoPasskeysHere origin={ways.passkeys} />
    </form>
  );
}
