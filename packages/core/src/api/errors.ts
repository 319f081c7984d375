/**
 * The errors that several endpoints declare.
 */
import {
  InsufficientStorage,
  InternalError,
  PayloadTooLarge,
  RequestInProgress,
  RequestTimeout,
  ServerBusy,
  UnsupportedEncoding
} from "../errors/requestErrors.ts"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { IdempotencyKeyReused, ReplayUnavailable } from "../store/IdempotencyError.ts"
import { StoreConflict, StoreUnavailable } from "../store/StoreError.ts"

/** Errors of every authenticated endpoint. */
export const commonErrors = [InvalidInput, InternalError, StoreUnavailable, StoreConflict, ServerBusy] as const

/** Errors of endpoints that accept an Idempotency-Key. */
export const idempotencyErrors = [IdempotencyKeyReused, RequestInProgress, ReplayUnavailable] as const

/** Errors of endpoints that read a request body. */
export const bodyErrors = [RequestTimeout, PayloadTooLarge, UnsupportedEncoding, InsufficientStorage] as const
