/** What the console reads, by key. Loaders and pages use the same options, so each thing is fetched once. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { endOf, startOf } from "../format/time";
import { paced } from "../live/pace";
import { answer, api, items, limited, observedFetch } from "./client";
import { everyPolicy } from "./everything";
import type { Plan, TransferState } from "./schema";

export const PAGE = 100;

/** Where the page after this one begins, if there is one. */
const following = (page: { next?: string | null }): string | undefined => page.next ?? undefined;

const MOVING_MS = 2500;
const told = paced(MOVING_MS);

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/me", { signal })),
  staleTime: 60_000,
});

export const waysQuery = queryOptions({
  queryKey: ["sign-in"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/sign-in", { signal })),
});

/** A service that takes longer than this to say how it is counts as away. */
const HEALTH_LIMIT_MS = 8000;

export const healthQuery = queryOptions({
  queryKey: ["health"],
  queryFn: ({ signal }) =>
    answer(api.GET("/api/v1/health", { signal, fetch: (request) => observedFetch(limited(request, HEALTH_LIMIT_MS)) })),
});

export const planQuery = (plan: string) =>
  queryOptions({
    queryKey: ["plan", plan],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/plans/{plan}", { params: { path: { plan } }, signal })),
    // A plan changes while it is surveyed and while others confirm or approve it.
    refetchInterval: ({ state }) => (state.data === undefined ? false : moving(state.data)),
  });

function moving({ state, transfer }: Plan): number | false {
  switch (state) {
    case "surveying":
      return 500;
    case "ready":
      return transfer == null ? paced(3000)() : false;
    case "ask":
    case "denied":
    case "failed":
    case "expired":
    case "dropped":
      return false;
  }
}

export const planDocumentQuery = (plan: string) =>
  queryOptions({
    queryKey: ["plan-document", plan],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/plans/{plan}", { params: { path: { plan }, query: { document: true } }, signal })),
  });

export const awaitingQuery = queryOptions({
  queryKey: ["plans", "awaiting-me"],
  queryFn: ({ signal }) =>
    items(api.GET("/api/v1/plans", { params: { query: { awaiting_me: true, limit: PAGE } }, signal })),
  refetchInterval: paced(5000),
});

/** How many plans wait for me, and how many of mine could still start: for the menu, without the plans themselves. */
export const planCountsQuery = queryOptions({
  queryKey: ["plans", "counts"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/plans/counts", { signal })),
  refetchInterval: paced(5000),
});

export interface ListFilter {
  /** Words of ids, places and names, each of which must be there; the service looks through all. */
  find?: string | undefined;
  /** The first day and the last one, in the chosen zone. */
  since?: string | undefined;
  until?: string | undefined;
}

export function isWhole({ find, since, until }: ListFilter): boolean {
  return find === undefined && since === undefined && until === undefined;
}

/** A filter as the service takes it: instants, the second one left out. */
function narrowed({ find, since, until }: ListFilter) {
  return { search: find, since: since && startOf(since), until: until && endOf(until) };
}

export const myPlansQuery = (filter: ListFilter) =>
  infiniteQueryOptions({
    queryKey: ["plans", "mine", narrowed(filter)],
    queryFn: ({ signal, pageParam }) =>
      answer(api.GET("/api/v1/plans", { params: { query: { ...narrowed(filter), limit: PAGE, after: pageParam || undefined } }, signal })),
    initialPageParam: "",
    getNextPageParam: following,
    refetchInterval: paced(5000),
    placeholderData: keepPreviousData,
  });

const HAS_ENDED: Readonly<Record<TransferState, boolean>> = {
  queued: false,
  running: false,
  waiting: false,
  paused: false,
  complete: true,
  partial: true,
  failed: true,
  canceled: true,
};
const isState = (text: string): text is TransferState => text in HAS_ENDED;
export const TRANSFER_STATES: readonly TransferState[] = Object.keys(HAS_ENDED).filter(isState);
const OPEN = TRANSFER_STATES.filter((state) => !HAS_ENDED[state]);
export const ENDED: ReadonlySet<TransferState> = new Set(TRANSFER_STATES.filter((state) => HAS_ENDED[state]));

export interface TransferFilter extends ListFilter {
  state?: TransferState | undefined;
}

export const transfersQuery = ({ state, ...filter }: TransferFilter) =>
  infiniteQueryOptions({
    queryKey: ["transfers", "list", state ?? "all", narrowed(filter)],
    queryFn: ({ signal, pageParam }) =>
      answer(api.GET("/api/v1/transfers", { params: { query: { state, ...narrowed(filter), limit: PAGE, after: pageParam || undefined } }, signal })),
    initialPageParam: "",
    getNextPageParam: following,
    // How far what runs is, is no change that is told.
    refetchInterval: ({ state }) => (state.data?.pages.some((page) => page.items.some((one) => one.state === "running")) === true ? MOVING_MS : told()),
    placeholderData: keepPreviousData,
  });

export const transferCountsQuery = (filter: ListFilter) =>
  queryOptions({
    queryKey: ["transfers", "counts", narrowed(filter)],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/transfers/counts", { params: { query: narrowed(filter) }, signal })),
    refetchInterval: paced(MOVING_MS),
    placeholderData: keepPreviousData,
  });

/** What has not ended, on every page: to tell when it has. */
export const openTransfersQuery = queryOptions({
  queryKey: ["transfers", "open"],
  queryFn: ({ signal }) => items(api.GET("/api/v1/transfers", { params: { query: { states: OPEN.join(","), limit: PAGE } }, signal })),
  refetchInterval: paced(5000),
});

const FOUND = 5;

/** The newest few that hold all these words, for the palette. */
export const foundQuery = (find: string) =>
  queryOptions({
    queryKey: ["transfers", "found", find],
    queryFn: ({ signal }) => items(api.GET("/api/v1/transfers", { params: { query: { search: find, limit: FOUND } }, signal })),
    staleTime: 10_000,
  });

export const transferQuery = (transfer: string) =>
  queryOptions({
    queryKey: ["transfer", transfer],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/transfers/{transfer}", { params: { path: { transfer } }, signal })),
    // The watch is faster; this mends what it shows when an event and an answer cross.
    refetchInterval: ({ state }) => (state.data !== undefined && ENDED.has(state.data.state) ? false : 4000),
  });

/** What limits it; asked again while it is measured. */
export const diagnosisQuery = (transfer: string, ended: boolean) =>
  queryOptions({
    queryKey: ["diagnosis", transfer, ended],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/transfers/{transfer}/diagnosis", { params: { path: { transfer } }, signal })),
    refetchInterval: ended ? false : 4000,
  });

/** How fast it was, as the service keeps it; while it moves, what the page sees itself is newer. */
export const throughputQuery = (transfer: string, ended: boolean) =>
  queryOptions({
    queryKey: ["throughput", transfer, ended],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/transfers/{transfer}/throughput", { params: { path: { transfer } }, signal })),
    refetchInterval: ended ? false : 60_000,
  });

export const eventsKey = (transfer: string) => ["events", transfer] as const;
export const failedKey = (transfer: string) => ["failed", transfer] as const;

const LONG_PAGE = 200;

/** Newest first; `after` walks back. */
export const eventsQuery = (transfer: string) =>
  infiniteQueryOptions({
    queryKey: eventsKey(transfer),
    queryFn: ({ signal, pageParam }) =>
      answer(
        api.GET("/api/v1/transfers/{transfer}/events", {
          params: { path: { transfer }, query: { order: "newest", after: pageParam || undefined, limit: LONG_PAGE } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: following,
  });

export const failedQuery = (transfer: string) =>
  infiniteQueryOptions({
    queryKey: failedKey(transfer),
    queryFn: ({ signal, pageParam }) =>
      answer(
        api.GET("/api/v1/transfers/{transfer}/failed", {
          params: { path: { transfer }, query: { after: pageParam || undefined, limit: LONG_PAGE } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: following,
  });

export const receiptQuery = (receipt: string) =>
  queryOptions({
    queryKey: ["receipt", receipt],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/receipts/{receipt}", { params: { path: { receipt } }, signal })),
    staleTime: Infinity,
  });

export interface EndpointFilter {
  /** Part of an id, an alias, the root or the node's name. */
  find?: string | undefined;
  /** `name=value`, or a name. */
  label?: string | undefined;
}

export const endpointsQuery = ({ find, label }: EndpointFilter = {}) =>
  infiniteQueryOptions({
    queryKey: ["endpoints", find, label],
    queryFn: ({ signal, pageParam }) =>
      answer(api.GET("/api/v1/endpoints", { params: { query: { q: find, label, limit: PAGE, after: pageParam || undefined } }, signal })),
    initialPageParam: "",
    getNextPageParam: following,
    refetchInterval: paced(5000),
    placeholderData: keepPreviousData,
  });

export const nodesQuery = infiniteQueryOptions({
  queryKey: ["nodes"],
  queryFn: ({ signal, pageParam }) => answer(api.GET("/api/v1/nodes", { params: { query: { limit: PAGE, after: pageParam || undefined } }, signal })),
  initialPageParam: "",
  getNextPageParam: following,
  refetchInterval: paced(MOVING_MS),
});

export const haltsQuery = queryOptions({
  queryKey: ["halts"],
  queryFn: ({ signal }) => items(api.GET("/api/v1/site/halts", { signal })),
  refetchInterval: paced(5000),
});

export const policiesQuery = queryOptions({
  queryKey: ["policies"],
  queryFn: ({ signal }) => everyPolicy(signal),
});

export interface AuditFilter {
  kind?: string | undefined;
  person?: string | undefined;
}

export const auditQuery = ({ kind, person }: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ["audit", kind ?? "", person ?? ""],
    queryFn: ({ signal, pageParam }) =>
      answer(api.GET("/api/v1/audit", { params: { query: { kind, person, after: pageParam || undefined, limit: 200 } }, signal })),
    initialPageParam: "",
    getNextPageParam: following,
    placeholderData: keepPreviousData,
  });

export const folderQuery = (endpoint: string, path: string) =>
  infiniteQueryOptions({
    queryKey: ["folder", endpoint, path],
    queryFn: ({ signal, pageParam }) =>
      answer(
        api.GET("/api/v1/endpoints/{endpoint}/browse", {
          params: { path: { endpoint }, query: { path, after: pageParam || undefined, limit: 500 } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: following,
    retry: false,
  });
