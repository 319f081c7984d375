/**
 * The limits of what is measured in milliseconds and in mebibytes.
 */
export const limits = {
  /** A page of a list. */
  listMilliseconds: 25,
  /** A search among 100,000 consumers. */
  searchMilliseconds: 25,
  /** The growth of the server process during an upload. */
  uploadMebibytes: 30,
  /** From the start of a process until `@tollgate/core` is imported. */
  importMilliseconds: 300,
  /** From the start of a process until its first verified key. */
  firstKeyMilliseconds: 600
} as const
