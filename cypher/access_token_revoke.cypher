// access_token_revoke: end a token; one that was ended before keeps the instant of that.
//
// kind:    write
// params:  token_id: str, revoked_at: str
// returns: id: str
// bounds:  one node
MATCH (t:AccessToken {token_id: $token_id})
SET t.revoked_at = coalesce(t.revoked_at, datetime($revoked_at))
RETURN t.token_id AS id
