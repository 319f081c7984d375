import { InvalidInput, PayloadTooLarge } from "@tollgate/core/module"

export const sourceTooLarge = (maxBytes: number): PayloadTooLarge =>
  new PayloadTooLarge({
    maxBytes,
    detail: `The source exceeds the limit of ${maxBytes} bytes. Leave out files that are not deployed.`
  })

/** The upload ended before the whole source arrived. Nothing is stored, and the upload URL remains valid. */
export const uploadIncomplete = (problem: string): InvalidInput =>
  new InvalidInput({
    errors: [{ pointer: "", detail: problem }],
    detail: `The upload is incomplete: ${problem}. Send the source again.`
  })

export const invalidDigest = (detail: string): InvalidInput =>
  new InvalidInput({ errors: [{ parameter: "Content-Digest", detail }] })
