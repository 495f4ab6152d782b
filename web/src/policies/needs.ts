/** What the guide makes rules for. */

import { queryOptions } from "@tanstack/react-query";
import { api, items } from "../api/client";

export const policyNeedsQuery = queryOptions({
  queryKey: ["policy-needs"],
  queryFn: ({ signal }) => items(api.GET("/api/v1/policies/needs", { signal })),
  staleTime: Infinity,
});
