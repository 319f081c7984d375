import { expect } from "vitest"

/** Checks that the browser logged these failed requests, by their status, and nothing else. */
export const expectFailedRequests = (errors: ReadonlyArray<string>, statuses: ReadonlyArray<number>): void =>
  expect(
    errors.map((error) => {
      const [, status] = /^Failed to load resource: the server responded with a status of (\d+)/.exec(error) ?? []
      return status === undefined ? error : Number(status)
    })
  ).toEqual(statuses)
