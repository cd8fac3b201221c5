package services

import "testing"

func TestS3ServersAnswerAndMakeBuckets(t *testing.T) {
	for _, s := range []S3Server{MinIO(t), VersityGW(t)} {
		if a, b := s.NewBucket(t), s.NewBucket(t); a == b {
			t.Errorf("%s: two buckets have one name", s.Name)
		}
	}
}
