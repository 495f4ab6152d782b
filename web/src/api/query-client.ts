import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./problem";

/** Data is shown while it is fetched again; what the service refuses is not asked twice. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: "always",
      staleTime: 1000,
      retry: (failures, error) => !(error instanceof ApiError && error.problem.status < 500) && failures < 2,
      retryDelay: 400,
    },
    mutations: { networkMode: "always" },
  },
});
