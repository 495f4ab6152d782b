/** What the console reads of people, their sessions, tokens and passkeys, by key. */

import { queryOptions } from "@tanstack/react-query";
import { answer, api, items } from "./client";
import { everybody, everyToken } from "./everything";

export const peopleQuery = queryOptions({ queryKey: ["people"], queryFn: ({ signal }) => everybody(signal) });

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: ({ signal }) => items(api.GET("/api/v1/sessions", { signal })),
});

/** Begins with the key of one's own, so that both are read anew when sessions end. */
export const sessionsOfQuery = (person: string) =>
  queryOptions({
    queryKey: ["sessions", person],
    queryFn: ({ signal }) => items(api.GET("/api/v1/sessions", { params: { query: { person } }, signal })),
  });

export const groupsQuery = queryOptions({
  queryKey: ["group-bindings"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/group-bindings", { signal })),
});

export const allTokensQuery = queryOptions({
  queryKey: ["tokens", "everybody's"],
  queryFn: ({ signal }) => everyToken(signal, true),
});

/** A person's passkeys, or one's own. */
export const passkeysQuery = (person?: string) =>
  queryOptions({
    queryKey: ["passkeys", person],
    queryFn: ({ signal }) => items(api.GET("/api/v1/passkeys", { params: { query: { person } }, signal })),
  });

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: ({ signal }) => everyToken(signal),
});
